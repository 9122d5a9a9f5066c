"""Fixtures: a small paper."""

from small_paper import place, small

__all__ = ["place", "small"]
