"""The leaderboard's picture: mean ranks, and differences from ours with intervals."""

from pathlib import Path
from typing import Any

import numpy as np

from leaderboard.board import Board
from leaderboard.comparison import difference, ranks
from leaderboard.measures import Measure

HIGHLIGHT, OTHERS, LINES = "#c0392b", "#34495e", "#d5d8dc"


def draw(board: Board, reference: str, path: Path) -> None:
    """Draw a panel per measure: mean ranks, and below them the differences, if there are any."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    rows = 2 if reference in board.methods else 1
    measures = board.measures
    figure, axes = plt.subplots(
        rows,
        len(measures),
        figsize=(3.2 * len(measures), (0.6 + 0.3 * len(board.methods)) * rows + 0.4),
        squeeze=False,
        layout="constrained",
    )
    for column, measure in enumerate(measures):
        _ranks(axes[0, column], board, measure, reference)
        if rows == 2:
            _differences(axes[1, column], board, measure, reference)
    figure.savefig(path, dpi=160, facecolor="white")
    plt.close(figure)


def _ranks(axis: Any, board: Board, measure: Measure, reference: str) -> None:
    loss, failed, _ = board.loss(measure)
    place = ranks(loss, failed).mean(axis=0)
    order = np.argsort(-place)
    names = [board.methods[k] for k in order]
    colors = [HIGHLIGHT if name == reference else OTHERS for name in names]
    axis.hlines(range(len(names)), 1.0, place[order], color=LINES, linewidth=1.0)
    axis.scatter(place[order], range(len(names)), color=colors, zorder=3)
    title = measure.title.removesuffix(", %")
    axis.set_title(f"{title}, {len(loss)} sets", fontsize=10)
    axis.set_xlabel("mean rank")
    axis.set_xlim(left=0.9)
    _label(axis, names, reference)


def _differences(axis: Any, board: Board, measure: Measure, reference: str) -> None:
    ours, (loss, failed, sources) = list(board.methods).index(reference), board.loss(measure)
    rivals = [k for k in range(len(board.methods)) if k != ours]
    found = {k: difference(loss, failed, ours, k, sources) for k in rivals}
    order = sorted(rivals, key=lambda k: -found[k].mean)
    means, low, high = measure.factor * np.array([found[k][:3] for k in order]).T
    places = range(len(order))
    axis.axvline(0.0, color=HIGHLIGHT, linewidth=1.0)
    axis.hlines(places, low, high, color=OTHERS, linewidth=1.5)
    axis.scatter(means, places, color=OTHERS, zorder=3)
    unit = " (points)" if measure.factor > 1.0 else ""
    axis.set_xlabel(f"← rival is better   {reference} is better →\ndifference{unit}", fontsize=9)
    _label(axis, [board.methods[k] for k in order], reference)


def _label(axis: Any, names: list[str], reference: str) -> None:
    axis.set_yticks(range(len(names)), names)
    for text in axis.get_yticklabels():
        if text.get_text() == reference:
            text.set(color=HIGHLIGHT, fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)
