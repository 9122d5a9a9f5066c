"""Quinlan's C4.5: trees grown by gain ratio and pruned by a pessimistic estimate of errors."""
