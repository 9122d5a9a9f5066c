"""Additive models as SQL queries."""
