"""The vote of ``kernel="auto"``: machines of several kernels and scalings, and their weights."""
