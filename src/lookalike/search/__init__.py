"""From items to similar pairs: plan, collapse identical items, find candidates, verify them, group them, audit.

Lives here: one file for each stage, and `sets` and `vectors`, which combine them into a search of each kind of item.
`settings` holds what was asked for and `inputs` takes what the caller gave; `plan` and `vector_plan` choose a method,
which `saved` reads back from files; `joins`, `qgrams`, `tables` and `probing` find candidates; `verify`, `cluster` and
`audit` use them; `storage` is where large arrays go.
May import: `results`, `io` and what is below them. To add a method, write its stage and let a plan choose it.
"""
