"""The results of chapter 3: amplification by ANDs and ORs, bounds of exact joins, MapReduce forms.

Lives here: `amplify` (curves, bands and rows), `banding` (candidate pairs from keys), `exact` (the
bounds of exact joins), `mapreduce`.
May import: `core`, `kernels`, `items`, `measures`, `families`. A formula has a doctest and a test.
"""
