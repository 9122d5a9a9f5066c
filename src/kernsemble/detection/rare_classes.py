"""The classes to detect, and cross-validation folds that contain rows of each of them."""

from numbers import Integral
from typing import Any

import numpy as np

from kernsemble._arguments import check_count
from kernsemble._folds import FoldRows, check_classes, read_splits
from kernsemble._typing import Array, FloatArray, IntArray


def rare_class_codes(rare: Any, classes: Array, totals: FloatArray) -> IntArray:
    """Return the codes of the rare classes: those named, or all but the largest.

    Parameters
    ----------
    rare : label, list of labels or None
        The rare classes; None: all but the largest.
    classes : array of shape (n_classes,)
        All classes.
    totals : array of shape (n_classes,)
        Total weight of the rows of each.
    """
    present = np.flatnonzero(totals)
    if rare is None:
        return np.delete(present, np.argmax(totals[present]))
    named = np.atleast_1d(np.asarray(rare))
    codes = np.flatnonzero(np.isin(classes, named))
    if len(codes) < len(named) or not totals[codes].all():
        raise ValueError(
            f"rare = {rare!r}: y has rows of the classes {classes[present].tolist()}; name one or "
            "several of them"
        )
    if len(codes) == len(present):
        raise ValueError(f"rare = {rare!r}: leave at least one class for the background")
    return codes


def stratified_folds(
    cv: Any, X: FloatArray, codes: IntArray, counts: FloatArray, classes: Array, rare: IntArray
) -> list[FoldRows]:
    """Return folds whose training rows contain every rare class (codes `rare`) and background.

    An integer `cv` is lowered to the number of rows of the smallest of them.
    """
    sides = np.where(np.isin(codes, rare), codes, -1)
    found, places = np.unique(sides, return_inverse=True)
    if isinstance(cv, Integral):
        check_count("cv", cv, 2)
        fewest = np.bincount(places[counts > 0.0]).min()
        if fewest < 2:
            raise ValueError(
                "y has only one row of a rare class or of the background, so none can be held out: "
                "pass more rows, or use numbers for alpha and threshold"
            )
        cv = min(int(cv), int(fewest))
    names = ["background" if code < 0 else classes.tolist()[code] for code in found]
    splits = read_splits(cv, X, places, counts, is_classifier=True)
    check_classes(splits, places, counts, names)
    return splits
