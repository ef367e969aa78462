"""From items to similar pairs: plan, collapse identical items, find candidates, verify them, group them, audit.

Lives here: one file for each stage, and `sets` and `vectors`, which combine them into a search of each kind of item.
`inputs` says what the caller gave; `plan` and `vector_plan` choose a method; `joins`, `qgrams`, `tables` and `probing`
find candidates; `verify`, `cluster` and `audit` use them.
May import: `results`, `io` and what is below them. To add a method, write its stage and let a plan choose it.
"""
