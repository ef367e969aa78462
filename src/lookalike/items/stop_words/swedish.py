"""Swedish function words by class."""

CLASSES = {
    "articles": "en ett den det de",
    "demonstratives": """
        denna denne detta dessa densamma detsamma desamma sådan sådant sådana samma""",
    "quantifiers": """
        all allt alla allting ingen inget inga ingenting någon något några någonting varje var vart varenda vardera
        båda bägge annan annat andra mycket mycken många fler flera flest flesta mer mera mest lite litet få färre
        mindre minst somliga varsin hel halv nog åtskilliga endera ena""",
    "personal pronouns": """
        jag mig mej du dig dej han honom hon henne vi oss ni er dem dom sig sej man själv självt själva varandra
        hen""",
    "possessives": """
        min mitt mina din ditt dina sin sitt sina hans hennes dess vår vårt våra ert era deras ens""",
    "other pronouns": "som vem vems vad vilken vilket vilka vars",
    "prepositions": """
        av bakom bland bortom bredvid efter enligt emellan emot framför från för före genom gentemot hos i inför inom
        innan innanför intill invid jämte kring längs med medelst mellan mot nedanför nära om omkring ovanför ovanpå på
        per runt sedan till trots under undan upp uppå ur utan utanför utom utefter utmed utöver via vid åt över
        angående beträffande gällande apropå förutom ifrån""",
    "conjunctions": """
        och eller men utan samt för så ty fast fastän både antingen varken att om ifall därför eftersom emedan då när
        medan sen tills innan än liksom såsom huruvida""",
    "to be": "är var vore varit vara bli blir blev blivit bliva",
    "auxiliaries": """
        har hade haft ha hava kan kunde kunnat kunna ska skall skulle skola vill ville velat vilja måste får fick fått
        bör borde bort böra må måtte torde brukar brukade låter lät gör gjorde gjort göra går gick""",
    "adverbs of degree": """
        mycket väldigt ganska rätt alltför nästan knappt bara endast blott också även till särskilt inte ej icke aldrig
        kanske nog väl ju ja nej jo dock ungefär cirka minsta precis helt""",
    "adverbs of time": """
        nu då sedan därefter snart genast alltid ofta ibland sällan igen åter redan ännu fortfarande först sist någonsin
        tidigare förut hittills numera länge strax emellertid""",
    "adverbs of place": """
        här där dit hit bort borta hem hemma in inne ut ute ner nere uppe fram framme överallt någonstans ingenstans
        annanstans därifrån härifrån tillbaka undan ihop isär""",
    "adverbs that link": """
        därför alltså således följaktligen likväl ändå däremot dessutom annars istället nämligen därav därmed därpå
        därtill däri därom därvid härmed härtill varav varmed varpå varför vartill vari varom""",
    "questions": "hur varför när var vart varifrån huru",
}
