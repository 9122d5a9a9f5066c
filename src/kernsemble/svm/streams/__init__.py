"""Fits to rows that are read in blocks: from files, iterators, or the partitions of a cluster.

Rows are read twice. The first time every block is summarised (`survey`), and the summaries are
merged into an encoding of the columns (`encoding`); the second time rows become codes of one byte
per entry, which stay where they are. The additive backend then asks them for sums (`prepared`),
for one fit (`fitting`) or a selection by cross-validation (`selection`). `sources` has the blocks
of this process; those of a cluster are in `kernsemble.dask`.
"""
