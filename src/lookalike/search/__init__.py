"""Find similar pairs: plan, collapse identical items, find candidates, verify, group and audit.

Lives here: one file per stage, and `sets` and `vectors`, which combine the stages. `settings` holds
the options; `inputs` converts what the caller gave; `plan` and `vector_plan` choose a method, which
`saved` restores from files; `joins`, `qgrams`, `tables` and `probing` find candidates; `verify`,
`cluster` and `audit` use them; `storage` is where large arrays go, and `sharing` reads texts for
processes that share a run.
May import: `results`, `io` and the packages below. To add a method, write its stage and a plan.
"""
