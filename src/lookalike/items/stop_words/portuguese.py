"""Portuguese function words by class, as written in Portugal and in Brazil."""

CLASSES = {
    "articles": "o a os as um uma uns umas",
    "articles with prepositions": """
        ao aos à às do da dos das no na nos nas pelo pela pelos pelas dum duma duns dumas num numa nuns numas""",
    "demonstratives": """
        este esta estes estas isto esse essa esses essas isso aquele aquela aqueles aquelas aquilo deste desta destes
        destas disto desse dessa desses dessas disso daquele daquela daqueles daquelas daquilo neste nesta nestes
        nestas nisto nesse nessa nesses nessas nisso naquele naquela naqueles naquelas àquele àquela""",
    "quantifiers": """
        algo alguém algum alguma alguns algumas nada ninguém nenhum nenhuma nenhuns cada qualquer quaisquer todo toda
        todos todas tudo outro outra outros outras outrem mesmo mesma mesmos mesmas muito muita muitos muitas pouco
        pouca poucos poucas vários várias ambos ambas demais tal tais tanto tanta tantos tantas bastante bastantes mais
        menos certo certa certos certas diversos diversas""",
    "personal pronouns": """
        eu me mim comigo tu te ti contigo ele ela nós conosco connosco vós eles elas você vocês se si consigo lhe lhes
        lo la los las no na dele dela deles delas nele nela neles nelas""",
    "possessives": """
        meu minha meus minhas teu tua teus tuas seu sua seus suas nosso nossa nossos nossas vosso vossa vossos
        vossas""",
    "other pronouns": """
        que quê quem qual quais cujo cuja cujos cujas quanto quanta quantos quantas onde""",
    "prepositions": """
        ante após até com contra de desde durante em entre mediante para perante por per sem sob sobre trás conforme
        segundo exceto excepto salvo consoante perto longe junto dentro fora além aquém através""",
    "conjunctions": """
        e ou nem mas porém contudo todavia entretanto porque pois embora se como quando enquanto logo portanto porquanto
        conquanto caso quer seja senão""",
    "to be": """
        ser sou és é somos sois são era eras éramos eram fui foste foi fomos foram serei será seremos serão seria
        seriam seja sejam fosse fossem for forem sendo sido estar estou está estamos estão estava estávamos estavam
        esteve estiveram estará estarão estaria esteja estejam estivesse estivessem estando estado""",
    "to have": """
        ter tenho tens tem temos têm tinha tínhamos tinham teve tiveram terei terá terão teria teriam tenha tenham
        tivesse tivessem tiver tendo tido haver há havia haviam houve houveram haverá haverão haveria haja hajam
        houvesse""",
    "auxiliaries": """
        posso pode podemos podem podia podiam pôde puderam poderá poderão poderia poderiam possa possam poder devo deve
        devemos devem devia deviam deverá deverão deveria deveriam dever vou vai vamos vão ia iam ir quer querem
        faz""",
    "adverbs of degree": """
        muito tão quase apenas só somente também tampouco ainda já não sim talvez assim bem mal""",
    "adverbs of time": """
        agora antes depois então sempre nunca jamais cedo tarde ontem anteontem enfim outrora doravante""",
    "adverbs of place": """
        aqui ali aí cá lá acolá aonde acima abaixo adiante atrás diante detrás embaixo debaixo""",
    "adverbs that link": "aliás ademais inclusive",
}
