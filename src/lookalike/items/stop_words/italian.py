"""Italian function words by class, cut at apostrophes as texts are: l, dell."""

CLASSES = {
    "articles": "il lo la i gli le un uno una",
    "elisions": """
        l d c n s m t v all dall dell nell sull coll un quest quell tutt sant mezz cos com dov quand ciascun nessun
        alcun qualcun""",
    "articles with prepositions": """
        al allo alla ai agli alle dal dallo dalla dai dagli dalle del dello della dei degli delle nel nello nella nei
        negli nelle sul sullo sulla sui sugli sulle col coi""",
    "demonstratives": """
        questo questa questi queste quello quella quelli quelle quel quei quegli ciò costui costei costoro colui colei
        coloro stesso stessa stessi stesse""",
    "quantifiers": """
        ogni ognuno ognuna ciascuno ciascuna qualche qualcuno qualcuna qualcosa qualsiasi qualunque chiunque nessuno
        nessuna niente nulla alcuno alcuna alcuni alcune altro altra altri altre tutto tutta tutti tutte molto molta
        molti molte poco poca pochi poche tanto tanta tanti tante troppo troppa troppi troppe parecchio parecchi
        parecchie più meno entrambi entrambe certo certa certi certe tale tali vari varie""",
    "personal pronouns": """
        io me mi tu te ti lui lei egli ella esso essa noi ci ce voi vi ve loro essi esse sé si ne li""",
    "possessives": """
        mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra vostri vostre
        proprio propria propri proprie""",
    "other pronouns": "che chi cui quale quali cosa quanto quanta quanti quante",
    "prepositions": """
        di a da in con su per tra fra verso contro dopo prima durante dentro fuori sopra sotto presso senza secondo
        mediante tramite lungo oltre fino sino entro circa eccetto tranne malgrado nonostante vicino lontano attraverso
        intorno attorno davanti dietro accanto insieme""",
    "conjunctions": """
        e ed o od oppure né ma però anzi bensì perché poiché siccome affinché benché sebbene quando mentre finché
        se come dove qualora purché dunque quindi pertanto perciò ovvero ossia cioè""",
    "to be": """
        essere sono sei è siamo siete ero eri era eravamo eravate erano fui fosti fu fummo foste furono sarò sarai sarà
        saremo sarete saranno sarei sarebbe saremmo sarebbero sia siano fosse fossero stato stata stati state essendo
        sta stanno stava stavano""",
    "to have": """
        avere ho hai ha abbiamo avete hanno avevo avevi aveva avevamo avevate avevano ebbe ebbero avrò avrai avrà
        avremo avrete avranno avrei avrebbe avremmo avrebbero abbia abbiano avesse avessero avuto avendo""",
    "auxiliaries": """
        può posso puoi possiamo potete possono poteva potevano potrà potranno potrebbe potrebbero potuto potere deve
        devo devi dobbiamo dovete devono doveva dovevano dovrà dovranno dovrebbe dovrebbero dovuto dovere vuole vogliono
        voleva volevano vorrebbe va vanno viene vengono veniva venivano fa fanno""",
    "adverbs of degree": """
        non assai quasi appena solo soltanto anche pure perfino persino addirittura neanche neppure nemmeno così forse
        bene sì no""",
    "adverbs of time": """
        ora adesso poi allora già ancora sempre mai spesso talvolta presto tardi subito finora ormai intanto infine
        ieri""",
    "adverbs of place": "qui qua lì là laggiù lassù ovunque altrove su giù via ecco",
    "adverbs that link": "tuttavia comunque inoltre infatti invece altrimenti eppure ebbene",
}
