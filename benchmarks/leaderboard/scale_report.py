"""Tables and the picture of the benchmark at scale."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kernsemble.experiments import Record
from leaderboard.board import Board
from leaderboard.cells import store_of
from leaderboard.measures import Measure
from leaderboard.picture import HIGHLIGHT
from leaderboard.scale import n_rows_of
from leaderboard.tables import markdown


def against_best(board: Board, ours: str, rivals: Sequence[str]) -> str:
    """Return for each measure how often, and by how much, a method beats the best of some rivals.

    The best rival is that of each set.
    """
    rows = []
    place, others = list(board.methods).index(ours), [list(board.methods).index(r) for r in rivals]
    for measure in board.measures:
        loss, failed, _ = board.loss(measure)
        gain = np.where(failed, np.inf, loss)[:, others].min(axis=1) - loss[:, place]
        n_won, mean = int((gain > 0.0).sum()), measure.factor * float(gain.mean())
        rows.append([measure.title, f"{n_won} of {len(gain)}", f"{mean:+.{measure.decimals}f}"])
    return markdown(["measure", f"{ours} is ahead", "mean lead"], rows)


def costs(board: Board) -> str:
    """Return the seconds of each method on each set."""
    seconds = board.values["fit_seconds"]
    rows = [
        [name, *(f"{value:.2f}" for value in line)]
        for name, line in zip(board.sets, seconds, strict=True)
    ]
    return markdown(["fit, s", *board.methods], rows)


def records_of(folder: Path, methods: Sequence[str], names: Sequence[str]) -> list[Record]:
    """Return the stored records of methods on problems, by method and then by rows."""
    found = []
    for method in methods:
        records = [r for c, r in store_of(folder, method).records.items() if c.data in names]
        found += sorted(records, key=lambda each: n_rows_of(each.cell.data))
    return found


def sizes(records: Sequence[Record], measure: Measure) -> str:
    """Return error, seconds, time of a prediction and memory by method and number of rows."""
    rows = []
    for each in records:
        values = {"rows": n_rows_of(each.cell.data), **each.values}
        if each.failure:
            rows.append([f"{values['rows']:,.0f}", each.cell.method, *["–"] * 4])
            continue
        rows.append(
            [
                f"{values['rows']:,.0f}",
                each.cell.method,
                f"{measure.shown(values[measure.name]):.{measure.decimals}f}",
                f"{values['fit_seconds']:.2f}",
                f"{values['predict_microseconds']:.1f}",
                f"{values['peak_gigabytes']:.2f}",
            ]
        )
    titles = ["rows", "method", measure.title, "fit, s", "prediction, µs per row", "peak, GB"]
    return markdown(titles, rows)


def exponents(records: Sequence[Record]) -> dict[str, float]:
    """Return the slope of log(time) against log(rows) over the two largest sizes of each method."""
    found = {}
    for method in dict.fromkeys(each.cell.method for each in records):
        points = [
            (n_rows_of(each.cell.data), each.values["fit_seconds"])
            for each in records
            if each.cell.method == method and not each.failure
        ]
        if len(points) > 1:
            (m, quick), (n, slow) = sorted(points)[-2:]
            found[method] = float(np.log(slow / quick) / np.log(n / m))
    return found


def draw(records: Sequence[Record], measure: Measure, reference: str, path: Path) -> None:
    """Draw error against seconds, a line per method with a point per number of rows."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.0, 4.5), layout="constrained")
    axes.set_prop_cycle(color=mpl.colormaps["Dark2"].colors)  # none is like the highlight
    for method in dict.fromkeys(each.cell.method for each in records):
        mine = [each for each in records if each.cell.method == method and not each.failure]
        seconds = [each.values["fit_seconds"] for each in mine]
        shown = [measure.shown(each.values[measure.name]) for each in mine]
        style = {"color": HIGHLIGHT, "linewidth": 2.5} if method == reference else {}
        axes.plot(seconds, shown, marker="o", label=method, **{"linewidth": 1.2, **style})
        for each, x, y in zip(mine, seconds, shown, strict=True):
            text = f"{np.log10(n_rows_of(each.cell.data)):.0f}"
            axes.annotate(f"$10^{text}$", (x, y), xytext=(4, 4), textcoords="offset points", size=7)
    axes.set(xscale="log", xlabel="seconds to fit", ylabel=measure.title)
    axes.set_title("Threenorm with 20 features: error against time, by number of rows")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small")
    figure.savefig(path, dpi=110, facecolor="white")
    plt.close(figure)
