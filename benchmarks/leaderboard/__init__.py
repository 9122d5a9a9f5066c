"""The accuracy leaderboard: problems, methods, measured cells, comparisons, tables, a picture."""
