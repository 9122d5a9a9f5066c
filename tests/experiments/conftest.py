"""A small paper, for tests of this folder."""

from small_paper import place, small

__all__ = ["place", "small"]
