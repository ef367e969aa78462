"""Files, folders, tables and standard input to items; results to files.

Lives here: `inputs` (what the inputs name) and `part` (one of them), `source` (what all sources share: ids, bad rows,
counts, skipping), one file for each format (`csv`, `jsonl`, `arrow`, `npy`, `lines`, `files`) and the table of them
(`formats`), one file for each kind of item (`documents`, `records`, `sets`, `vectors`, `ratings`), and `write`.
May import: `core`, `kernels`, `items`. To add a format, write a reader and give it a row in `formats.FORMATS`. To add a
kind of item, derive a source from `source.ItemSource` that chooses its columns.
"""
