"""The base of the package: helpers that any room can use.

Lives here: `errors` (messages and parameter checks), `run` (threads and progress), `arrays` (tasks
of equal work, and their results), `storage` and `workdir` (large arrays, in memory or in files),
`shards` and `shared` (the same for processes that share a run),
`files` (safe creation of files), `stamps` (changes of files), `process` (its start and memory),
`imports` and `late_pandas` (to import less), `wording`, `words` (word lists in text files),
`statistics`, `drawing` and `display` (pictures and notebooks).
May import: nothing from lookalike. A helper belongs here only if unrelated rooms need it.
"""
