"""Files, folders, tables and standard input to items; results to files.

Lives here: `parts` (what the inputs name), `source` (what all readers share: ids, bad rows, counts, skipping), one file
for each format (`csv`, `jsonl`, `arrow`, `npy`, `lines`, `files`), one for each kind of item (`documents`, `records`,
`sets`, `vectors`, `ratings`), and `write`.
May import: `core`, `kernels`, `items`. To add a format, write a reader and give it a row in `formats.FORMATS`.
"""
