"""What chapter 3 proves: how ANDs and ORs amplify a family, what exact joins may leave out, and the MapReduce forms.

Lives here: `amplify` (curves, bands and rows), `banding` (bands and rows run on keys), `exact` (the bounds of exact
joins), `mapreduce`.
May import: `core`, `kernels`, `items`, `measures`, `families`. Each formula has a doctest and a test from the textbook.
"""
