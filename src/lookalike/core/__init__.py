"""What every room needs and what needs no other room.

Lives here: `errors` (messages and checks of parameters), `run` (threads and progress), `storage` and `workdir`
(large arrays, in memory or in files), `wording`, `words` (lists in text files), `statistics`, `drawing` and
`display` (pictures and notebooks).
May import: nothing of lookalike. A helper belongs here only if rooms that do not import each other need it.
"""
