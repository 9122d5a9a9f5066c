"""Data sets read in blocks of rows: Parquet and CSV files larger than memory, and iterators."""

from kernsemble.streaming.blocks import Block, Blocks

__all__ = ["Block", "Blocks"]
