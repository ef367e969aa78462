"""French function words by class, cut at apostrophes as texts are: l, qu."""

CLASSES = {
    "articles": "le la les un une des du de au aux",
    "elisions": "l d j qu n s t m c jusqu lorsqu puisqu quoiqu quelqu",
    "demonstratives": """
        ce cet cette ces ceci cela ça celui celle ceux celles""",
    "quantifiers": """
        aucun aucune certain certaine certains certaines chaque chacun chacune divers diverses nul nulle plusieurs
        quelque quelques tel telle tels telles tout toute tous toutes autre autres même mêmes autrui rien personne
        beaucoup peu plus moins assez trop tant autant davantage plupart""",
    "personal pronouns": """
        je me moi tu te toi il elle on nous vous ils elles se soi lui leur eux en y""",
    "possessives": """
        mon ma mes ton ta tes son sa ses notre nos votre vos leurs mien mienne miens miennes tien tienne tiens tiennes
        sien sienne siens siennes nôtre nôtres vôtre vôtres""",
    "other pronouns": """
        qui que quoi dont où lequel laquelle lesquels lesquelles duquel desquels desquelles auquel auxquels auxquelles
        quiconque quel quelle quels quelles""",
    "prepositions": """
        à après avant avec chez contre dans depuis derrière dès devant durant entre envers hormis hors jusque malgré
        outre par parmi pendant pour près sans sauf selon sous suivant sur vers via voici voilà afin lors loin""",
    "conjunctions": """
        et ou ni mais or car donc si comme quand lorsque puisque quoique parce tandis sinon soit""",
    "to be": """
        être est es suis sommes êtes sont étais était étions étiez étaient fus fut fûmes fûtes furent serai seras sera
        serons serez seront serais serait serions seriez seraient sois soit soyons soyez soient fût été étant""",
    "to have": """
        avoir ai as a avons avez ont avais avait avions aviez avaient eus eut eûmes eûtes eurent aurai auras aura
        aurons aurez auront aurais aurait aurions auriez auraient aie aies ait ayons ayez aient eût eu ayant""",
    "auxiliaries": """
        peux peut pouvons pouvez peuvent pouvait pouvaient pourra pourront pourrait pourraient pu pouvoir dois doit
        devons devez doivent devait devaient devra devront devrait devraient dû devoir veux veut voulons voulez
        veulent voulait voulaient voudrait faut fallait faudra faudrait vais vas va allons allez vont allait allaient
        fait font faire faisait""",
    "adverbs of degree": """
        très si aussi bien fort presque environ seulement guère tellement plutôt surtout notamment ne pas point non
        oui peut""",
    "adverbs of time": """
        alors déjà encore enfin ensuite jamais maintenant parfois puis souvent soudain tantôt tard tôt toujours
        autrefois désormais dorénavant bientôt aussitôt longtemps""",
    "adverbs of place": """
        ici là ailleurs partout dehors dedans dessus dessous ci auprès autour""",
    "adverbs that link": """
        ainsi cependant pourtant néanmoins toutefois ailleurs sinon comment combien pourquoi""",
}
