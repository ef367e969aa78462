"""Dutch function words by class, cut at apostrophes as texts are: t, n."""

CLASSES = {
    "articles": "de het een s t n der den des ener geen",
    "demonstratives": """
        deze dit die dat diens dier zulk zulke dezelfde hetzelfde degene degenen diegene diegenen datgene""",
    "quantifiers": """
        al alle allen alles iedere ieder iedereen elk elke elkaar enig enige enkel enkele sommige sommigen menig menige
        verscheidene verschillende veel vele velen weinig weinige meer meest meeste meesten minder minst beide beiden
        ander andere anderen zelf zelfde iets niets iemand niemand genoeg wat half allemaal""",
    "personal pronouns": """
        ik mij me jij je jou u hij hem zij ze haar het wij we ons jullie hen hun zich zichzelf mezelf jezelf onszelf
        men""",
    "possessives": "mijn jouw uw zijn onze mijne jouwe uwe zijne hare hunne",
    "other pronouns": "wie wiens wat welk welke hetgeen",
    "prepositions": """
        aan achter af behalve beneden bij binnen boven buiten door gedurende in jegens langs met middels na naar naast
        namens nabij niettegenstaande om omstreeks omtrent ondanks onder op over per rond rondom sedert sinds te tegen
        tegenover ten ter tijdens tot tussen uit van vanaf vanuit vanwege via volgens voor voorbij wegens zonder
        dankzij ongeveer""",
    "conjunctions": """
        en of maar want dus doch noch als dan toen terwijl omdat doordat zodat opdat hoewel ofschoon indien mits tenzij
        totdat voordat nadat zodra zolang zoals alsof evenals hetzij aangezien""",
    "to be": "ben bent is zijn was waren geweest wees zij weest",
    "auxiliaries": """
        heb hebt heeft hebben had hadden gehad word wordt worden werd werden geworden zal zult zullen zou zouden kan
        kun kunt kunnen kon konden gekund moet moeten moest moesten mag mogen mocht mochten wil wilt willen wilde wilden
        wou hoef hoeft hoeven laat laten liet lieten gaat gaan doet doen blijft blijven""",
    "adverbs of degree": """
        zeer erg heel zo te nogal vrij bijna haast nauwelijks slechts maar alleen ook zelfs vooral wel niet nooit
        misschien wellicht ja nee juist ruim toch even zowat""",
    "adverbs of time": """
        nu dan daarna daarvoor vervolgens eerst later straks weer nog altijd steeds vaak soms zelden ooit al reeds pas
        inmiddels intussen ondertussen weldra voortaan destijds gisteren eerder sindsdien""",
    "adverbs of place": """
        hier daar er ergens nergens overal elders heen weg terug thuis naartoe vandaan omhoog omlaag voort samen""",
    "adverbs that link": """
        daarom derhalve toch echter evenwel desondanks bovendien trouwens immers anders namelijk eveneens hiermee hierop
        hiervan hiervoor hierbij hierdoor hierin daarmee daarop daarvan daarbij daardoor daarin daaraan daarover daaruit
        daartoe ermee erop ervan erbij erdoor erin eraan erover eruit ertoe waarmee waarop waarvan waarvoor waarbij
        waardoor waarin waaraan waarover waaruit waartoe""",
    "questions": "hoe waar waarom wanneer waarheen hoeveel",
}
