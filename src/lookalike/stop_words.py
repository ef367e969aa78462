"""Common English words, for shingles that begin at a stop word."""

WORDS = """
a about above after again against all also am an and any are as at be because been before being below
between both but by can could did do does doing down during each few for from further had has have having
he her here hers herself him himself his how i if in into is it its itself just may me might more most must
my myself no nor not now of off on once only or other our ours ourselves out over own same shall she should
so some such than that the their theirs them themselves then there these they this those through to too
under until up upon us very was we were what when where which while who whom why will with would yet you
your yours yourself yourselves
"""
ENGLISH = frozenset(WORDS.split())
