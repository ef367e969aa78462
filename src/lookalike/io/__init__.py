"""Reads items from files, folders, tables and standard input, and writes results to files.

Lives here: `inputs` (finds the files that inputs name) and `part` (one of them), `source` (what all
sources share: ids, bad rows, bad files, counts), one file per format (`csv`, `jsonl`, `arrow`,
`npy`, `lines`, `files`) and their table (`formats`), `thrift` and `parquet_pages` (the metadata of
Parquet, and how much its rows take decoded), one file per kind of item (`documents`, `records`,
`sets`, `vectors`, `ratings`), `types` and `json_types` (types that fit all rows), and `write` with
`encode` (formats of outputs), `row_groups` (Parquet) and `json_text`.
May import: `core`, `kernels`, `items`. To add a format, write a reader and add it to
`formats.FORMATS`. To add a kind of item, derive its source from `source.ItemSource`.
"""
