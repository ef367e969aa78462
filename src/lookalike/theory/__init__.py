"""Amplification by ANDs and ORs, bounds of exact joins, and MapReduce forms.

These are results of Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, chapter 3.

Lives here: `amplify` (curves, bands and rows), `sorting` (of keys, in threads), `banding`
(candidate pairs from keys), `exact` (the bounds of exact joins), `mapreduce`.
May import: `core`, `kernels`, `items`, `measures`, `families`. A formula has a doctest and a test.
"""
