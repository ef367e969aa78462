"""English function words by class, cut at apostrophes as texts are: don, t."""

CLASSES = {
    "articles and determiners": """
        a an the this that these those each every either neither both all any some no none another other others such
        same own""",
    "quantifiers": "much many more most few fewer fewest little less least several enough half one ones",
    "personal pronouns": """
        i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
        herself it its itself they them their theirs themselves themself oneself""",
    "other pronouns": """
        who whom whose whoever whomever which whichever what whatever someone somebody something anyone anybody
        anything everyone everybody everything nobody nothing""",
    "prepositions": """
        about above across after against along alongside amid amidst among amongst around as at atop before behind
        below beneath beside besides between beyond by despite down during except for from in inside into like near of
        off on onto out outside over past per round since than through throughout till to toward towards under
        underneath unlike until unto up upon versus via with within without""",
    "conjunctions": """
        and but or nor so yet if unless because although though whereas while whilst whether once lest when whenever
        where wherever how why""",
    "auxiliaries": """
        am is are was were be been being have has had having do does did doing can cannot could may might must shall
        should will would ought""",
    "parts of contractions": """
        s t d ll re ve m don doesn didn isn aren wasn weren hasn haven hadn couldn wouldn shouldn mustn mightn needn
        shan ain""",
    "adverbs of degree": """
        very too quite rather almost nearly just only even also hardly barely scarcely merely somewhat fairly mostly
        partly altogether indeed perhaps maybe not""",
    "adverbs of time": """
        now then soon already always never ever often sometimes seldom rarely again twice still ago afterwards
        afterward meanwhile thereafter hitherto henceforth beforehand""",
    "adverbs of place": """
        here there everywhere somewhere anywhere nowhere elsewhere away apart aside together ahead forth upwards
        downwards inwards outwards onwards upward downward inward outward onward""",
    "adverbs that link": """
        however therefore thus hence moreover furthermore nevertheless nonetheless otherwise instead accordingly
        consequently likewise namely anyway else thereby therein thereof thereupon hereby herein whereby wherein
        whereupon whereof somehow yes""",
}
