"""German function words by class, in all their forms."""

CLASSES = {
    "articles": "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines",
    "demonstratives": """
        dieser diese dieses diesen diesem dies jener jene jenes jenen jenem derjenige diejenige dasjenige denjenigen
        demjenigen diejenigen derselbe dieselbe dasselbe denselben demselben dieselben solch solche solcher solches
        solchen solchem""",
    "quantifiers": """
        alle aller alles allen allem jeder jede jedes jeden jedem jedermann manch manche mancher manches manchen
        manchem einige einiger einiges einigen einigem etliche etlichen mehrere mehrerer mehreren viel viele vieler
        vieles vielen vielem wenig wenige weniger wenigen wenigem mehr meist meiste meisten beide beider beides beiden
        sämtliche sämtlichen andere anderer anderes anderen anderem irgendein irgendeine irgendeinen irgendeinem
        irgendeiner etwas nichts genug ganz halb einzelne einzelnen""",
    "personal pronouns": """
        ich mich mir du dich dir er ihn ihm sie ihr ihnen es wir uns euch sich man selbst selber einander meiner
        deiner seiner unser""",
    "possessives": """
        mein meine meinen meinem meines dein deine deinen deinem deines sein seine seinen seinem seines ihre ihren
        ihrem ihrer ihres unsere unseren unserem unserer unseres unserm unsern euer eure euren eurem eurer eures""",
    "other pronouns": """
        wer wen wem wessen was welche welcher welches welchen welchem jemand jemanden jemandem niemand niemanden
        niemandem irgendwer irgendwas deren dessen denen""",
    "prepositions": """
        ab an am ans auf aufs aus außer außerhalb bei beim bis durch durchs entlang entgegen für fürs gegen gegenüber
        gemäß hinter in im ins innerhalb infolge inmitten jenseits mit mithilfe mittels nach nahe neben ob oberhalb
        ohne samt seit statt anstatt trotz über übers um ums unter unterhalb unters vom von vor vorm vors während
        wegen wider zu zufolge zum zur zwischen zugunsten anhand aufgrund anlässlich angesichts bezüglich hinsichtlich
        laut mangels per pro je""",
    "conjunctions": """
        und oder aber sondern denn doch sowie sowohl weder noch entweder als wie wenn falls sofern weil da dass daß
        damit obwohl obgleich wenngleich indem nachdem bevor ehe sobald solange sooft soweit seitdem umso desto
        beziehungsweise""",
    "auxiliaries": """
        bin bist ist sind seid war warst waren wart wäre wären gewesen habe hast hat haben habt hatte hatten hattest
        hätte hätten gehabt werde wirst wird werden werdet wurde wurden würde würden geworden worden kann kannst können
        könnt konnte konnten könnte könnten muss musst müssen müsst musste mussten müsste müssten darf darfst dürfen
        durfte durften dürfte dürften soll sollst sollen sollte sollten will willst wollen wollt wollte wollten mag
        magst mögen möchte möchten mochte mochten""",
    "adverbs of degree": """
        sehr zu so gar recht ziemlich fast beinahe nahezu kaum nur bloß lediglich auch sogar selbst allein besonders
        etwa ungefähr rund mindestens wenigstens höchstens insgesamt überhaupt eher ebenso genauso nicht nie niemals
        keineswegs vielleicht wohl ja nein eben halt schon""",
    "adverbs of time": """
        jetzt nun dann danach davor zuvor vorher nachher bald gleich sofort immer stets oft häufig manchmal selten
        wieder bereits erst einst einmal mal inzwischen mittlerweile zunächst zuletzt schließlich seither bisher
        bislang damals""",
    "adverbs of place": """
        hier dort da hin her dahin daher hierher dorthin überall irgendwo nirgends nirgendwo woanders draußen drinnen
        oben unten vorn vorne hinten rechts links weg fort zurück heraus hinaus herein hinein herauf hinauf herunter
        hinunter""",
    "adverbs that link": """
        also deshalb deswegen darum daher folglich somit demnach dennoch trotzdem jedoch hingegen dagegen allerdings
        zwar außerdem zudem ferner überdies übrigens nämlich sonst stattdessen daran darauf daraus dabei dadurch dafür
        dahinter darin darüber darunter davon dazu dazwischen hierbei hierfür hiermit hierzu woran worauf woraus wobei
        wodurch wofür womit worin worüber wovon wozu""",
    "questions": "wann warum weshalb wieso wo wohin woher inwiefern",
}
