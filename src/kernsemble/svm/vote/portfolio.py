"""The candidates of a vote: kernels, scalings and widths, and the additive machine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from kernsemble.kernels import Exponential, Gaussian, Kernel, Laplacian, Stump
from kernsemble.kernels.radial import Radial
from kernsemble.preprocessing import LearnedKind, ScalingKind
from kernsemble.preprocessing.supervised import INDICATORS, accepts_categories, is_learned
from kernsemble.svm.backends.base import Candidate, TrainingRows
from kernsemble.svm.backends.radial_parts import radial_part
from kernsemble.svm.columns import has_missing
from kernsemble.svm.model_selection.grid import PenaltyGrid
from kernsemble.svm.model_selection.race import distinct_scalings, scaled_rows, wrapper
from kernsemble.svm.vote.effort import Effort

NAMES: dict[type[Any], str] = {
    Laplacian: "trees",
    Exponential: "polytopes",
    Gaussian: "Gaussians",
    Stump: "stumps",
}
WIDTHS: dict[type[Radial], tuple[float, ...]] = {  # gamma, in units of 1 over the mean distance
    Laplacian: (0.5, 1.0, 2.0),
    Exponential: (0.25, 1.0, 4.0),
    Gaussian: (0.25, 1.0, 4.0),
}
SCALINGS: tuple[ScalingKind, ...] = ("rank", "range")
LEARNED: tuple[tuple[LearnedKind, type[Radial], tuple[float, ...]], ...] = (
    ("learned", Laplacian, (1.0, 3.0)),
    ("learned-range", Exponential, (0.5, 2.0)),
    ("learned-directions", Exponential, (1.0,)),
    ("effects", Laplacian, (1.0,)),
    ("learned-effects", Laplacian, (1.0, 3.0)),
    ("learned-indicators", Laplacian, (1.0, 2.0)),  # on leaves, of rows with categories
)
MAX_CLASSES_OF_EFFECTS = 2  # effects of more classes are as many coordinates of each column
MAX_LEARNED_COLUMNS = 400  # number of columns above which no scaling is learned
CLASS_MULTIPLES = (0.125, 0.5, 2.0, 8.0, 32.0, 128.0)  # values of C, in units of C="scale"
NUMBER_MULTIPLES = (0.5, 4.0, 32.0, 256.0, 2048.0)
UNIT_OF_LEARNED = 1.6  # C="scale" of kernels of the mean distance 1, about 1/(1 − 1/e)
ROWS_FOR_UNITS = 10_000  # number of rows for the widths of kernels on leaves
MANY_CLASSES = 10  # number of classes above which additive machines try half as many values of C
ADDITIVE_MULTIPLES = tuple(4.0**power for power in range(-2, 7))


@dataclass(frozen=True, eq=False)
class Entrant:
    """A candidate of a vote, and the values of C that it tries."""

    name: str
    candidate: Candidate
    grid: PenaltyGrid
    is_additive: bool = False
    skips_race: bool = False  # since it needs more rows than the race has
    is_correction: bool = False  # of the additive machine

    def near(self, C: float, factors: Sequence[float]) -> Self:
        """Return the same candidate with values of C around one of them."""
        return replace(self, grid=replace(self.grid, values=tuple(C * each for each in factors)))


def entrants(
    rows: TrainingRows,
    additive: Kernel | None,
    scalings: Sequence[Any] | None,
    grid: PenaltyGrid | None,
    is_classifier: bool,
    effort: Effort,
) -> list[Entrant]:
    """Return the candidates for weighted rows.

    Parameters
    ----------
    rows : TrainingRows
        Rows; categories and missing values are compared within `Mixed`, or by their effects.
    additive : Kernel or None
        Kernel of the additive machine on these columns; None for none.
    scalings : sequence of str, optional
        The scalings to use, by default all that suit the rows.
    grid : PenaltyGrid, optional
        The values of C.
    is_classifier : bool
        Whether the targets are classes.
    effort : Effort
        The effort of the vote. On leaves, categories and missing values need effects.
    """
    is_mixed = needs_effects(rows)
    if effort.is_local:
        rows = _sampled(rows)
    multiples = CLASS_MULTIPLES if is_classifier else NUMBER_MULTIPLES
    grid = grid or PenaltyGrid(multiples, is_relative=True)
    unit = UNIT_OF_LEARNED if grid.is_relative else 1.0
    absolute = PenaltyGrid(tuple(unit * value for value in grid.values))
    wrap, found = wrapper(rows), []
    plain = _plain_scalings(rows) if scalings is None else list(scalings)
    for kind in plain:
        if is_learned(kind) or (effort.is_local and is_mixed):
            continue
        scaled = scaled_rows(rows, kind)
        for family, widths in WIDTHS.items():
            bound = wrap(family()).bind(scaled, rows.weight)
            radial = radial_part(bound)
            assert radial is not None
            assert radial.rate is not None  # bound
            rate = radial.rate
            found += [
                Entrant(_name(family, kind), Candidate(wrap(family(width * rate)), kind), grid)
                for width in widths
            ]
    for kind, family, widths in LEARNED:
        if kind in (scalings or _learned_scalings(rows, is_mixed, effort.is_local)):
            skips = accepts_categories(kind) and is_mixed
            found += [
                Entrant(_name(family, kind), Candidate(family(w), kind), absolute, False, skips)
                for w in widths
            ]
    if additive is not None and scalings is None:
        skips = is_mixed or effort.is_local
        assert rows.targets is not None
        is_long = rows.targets.shape[1] > MANY_CLASSES
        steps = PenaltyGrid(ADDITIVE_MULTIPLES[:: 2 if is_long else 1], is_relative=True)
        found += [
            Entrant(_name(Stump, kind), Candidate(additive, kind), steps, True, skips)
            for kind in plain
        ]
    return found


def needs_effects(rows: TrainingRows) -> bool:
    """Return whether rows have categories or missing values."""
    return bool(rows.is_category.any()) or has_missing(rows.X)


def _plain_scalings(rows: TrainingRows) -> list[ScalingKind]:
    available = distinct_scalings(rows)
    return [kind for kind in SCALINGS if kind in available]


def _sampled(rows: TrainingRows, most: int = ROWS_FOR_UNITS) -> TrainingRows:
    """Return a random sample of many rows."""
    if rows.n_rows <= most:
        return rows
    present = np.flatnonzero(rows.weight)
    drawn = np.random.default_rng(0).choice(present, min(most, len(present)), replace=False)
    return rows.among(np.sort(drawn))


def _learned_scalings(rows: TrainingRows, is_mixed: bool, is_local: bool) -> list[LearnedKind]:
    """Return the scalings that can be learned from these rows in reasonable time."""
    assert rows.targets is not None
    n_classes = max(rows.targets.shape[1], 2)
    if sparse.issparse(rows.X) or rows.X.shape[1] > MAX_LEARNED_COLUMNS or rows.X.shape[1] == 1:
        return []
    kinds = [kind for kind, _, _ in LEARNED if kind != INDICATORS or (is_mixed and is_local)]
    if is_local:  # learned effects are plain ones where learning does not help
        kinds = [kind for kind in kinds if kind != "effects"]
    if n_classes > MAX_CLASSES_OF_EFFECTS and not is_mixed:
        kinds = [kind for kind in kinds if not accepts_categories(kind)]
    return [kind for kind in kinds if accepts_categories(kind) or not is_mixed]


def _name(family: type[Any], kind: str | None) -> str:
    scales = {
        "rank": "ranks",
        "range": "numbers",
        "distinct": "distinct values",
        "learned": "learned ranks",
        "learned-range": "learned numbers",
        "learned-distinct": "learned distinct values",
        "learned-directions": "learned directions",
        "effects": "effects",
        "learned-effects": "learned effects",
        "learned-indicators": "learned indicators",
        None: "unscaled numbers",
    }
    return f"{NAMES[family]} on {scales[kind]}"
