"""Model selection: cross-validation, the grid of C, and the race of ``kernel="auto"``."""
