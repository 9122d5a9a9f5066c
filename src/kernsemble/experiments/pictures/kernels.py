"""Pictures of the figures of Crammer et al. (2002) and Zhu (2008)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernsemble._axes import NEGATIVE, NEUTRAL, POSITIVE, panels_of_figure
from kernsemble.boosting import KernelBoost
from kernsemble.experiments.curves import MeanCurve, mean_curve, mean_curves, records_of_method
from kernsemble.experiments.methods.column_selection import GENERATIONS, true_columns
from kernsemble.experiments.methods.spheres import leading_components
from kernsemble.experiments.paper_data import draw
from kernsemble.experiments.records import Record
from kernsemble.selection import exhaustive_search

TOY_SEED = 6  # seed of a draw in which, as in the paper's, the least AIC is wrong
PERCEPTRONS = {
    "Perceptron": "dot product",
    "Perceptron, learned": "learned, printed weights",
    "Perceptron, line search": "learned, line search",
}
RANKINGS = {
    "LAGO": "LAGO",
    "SVC balanced": "SVC",
    "random forest balanced": "random forest",
    "AdaBoost ranking": "AdaBoost",
    "HistGradientBoosting balanced": "HistGradientBoosting",
}


def projections(_: Sequence[Record]) -> Any:
    """Draw two features and two learned ones of test rows, and inner products (Figure 3)."""
    data = draw("crammer synthetic", 0)
    rows, others = (np.argsort(-y, kind="stable") for y in (data.y, data.y_test))
    X, X_test = data.X[rows], data.X_test[others]
    y_test = data.y_test[others]
    booster = KernelBoost(step="line-search").fit(X, data.y[rows])
    axes = np.linalg.svd(booster.transform(X), full_matrices=False)[2][:2]
    page, panels = panels_of_figure(1, 4, (13.0, 3.4))
    planes = (X_test[:, :2], booster.transform(X_test) @ axes.T)
    titles = ("two of the features", "two axes of the learned kernel")
    for panel, plane, title in zip(panels[0, :2], planes, titles, strict=True):
        for sign, colour in ((1, POSITIVE), (-1, NEGATIVE)):
            panel.scatter(*plane[y_test == sign].T, s=8, color=colour, label=f"class {sign:+d}")
        panel.set(title=title, xlabel="first", ylabel="second")
    panels[0, 0].legend(fontsize=8)
    matrices = (X @ X_test.T, booster.kernel_(X, X_test))
    for panel, K, title in zip(
        panels[0, 2:], matrices, ("dot products", "the learned kernel"), strict=True
    ):
        top = np.quantile(np.abs(K), 0.98)
        image = panel.imshow(K, cmap="gray", vmin=-top, vmax=top, aspect="auto")
        page.colorbar(image, ax=panel)
        panel.set(title=title, xlabel="test row, class +1 first", ylabel="training row")
    return page


def perceptrons(records: Sequence[Record]) -> Any:
    """Draw mistakes in the first epoch, and test errors by epoch, clean and noisy (Figure 4)."""
    page, panels = panels_of_figure(1, 3, (13.0, 3.8))
    shown = (
        ("crammer synthetic", "online", "visit of the first epoch", "online error"),
        ("crammer synthetic", "error", "epoch", "clean test rows"),
        ("crammer synthetic, noisy", "error", "epoch", "noisy test rows"),
    )
    for panel, (data, name, label, title) in zip(panels[0], shown, strict=True):
        for method, label_of_method in PERCEPTRONS.items():
            found = records_of_method(records, method, data)
            if found:
                _with_bars(panel, mean_curve(found, name), label_of_method)
        panel.set(xlabel=label, ylabel="error, %", title=title, ylim=(0.0, None))
        _add_legend(panel)
    return page


def pairs_of_digits(records: Sequence[Record]) -> Any:
    """Draw the errors of pairs of kernels, one point per pair of digits (Figure 5)."""
    methods = [name for name in ("digits", "digits, wide") if records_of_method(records, name)]
    page, panels = panels_of_figure(max(1, len(methods)), 2, (9.0, 4.4 * max(1, len(methods))))
    labels = {
        "RBF": "RBF",
        "learned": "learned on training rows",
        "transductive": "learned on test rows",
    }
    about = {"digits": "σ = 1, printed weights", "digits, wide": "σ = 8, line search"}
    for line, method in zip(panels, methods, strict=False):
        found = records_of_method(records, method)
        for panel, (x, y) in zip(
            line, (("RBF", "learned"), ("learned", "transductive")), strict=True
        ):
            across, up = (np.array([each.values[name] for each in found]) for name in (x, y))
            top = 0.5 + max(across.max(), up.max())
            panel.plot([0.0, top], [0.0, top], color=NEUTRAL, linewidth=0.8)
            panel.scatter(across, up, s=16, color=POSITIVE)
            panel.set(
                xlabel=f"{labels[x]}: error, %",
                ylabel=f"{labels[y]}: error, %",
                title=f"{about[method]}: {np.sum(up < across)} of {len(found)} below",
                aspect="equal",
            )
    return page


def kernel_components(_: Sequence[Record]) -> Any:
    """Draw a round cloud and its leading components, coloured by the radius (Figure 2)."""
    data = draw("zhu spheres", 0)
    components = leading_components(data.X)
    page, panels = panels_of_figure(1, 4, (14.0, 3.6))
    planes = {
        "the points": data.X,
        "PCA": components["PCA"],
        "kernel matrix as it is": components["kernel matrix"][:, :2],
        "KernelPCA, centred": components["KernelPCA"][:, [2, 0]],
    }
    for panel, (title, plane) in zip(panels[0], planes.items(), strict=True):
        dots = panel.scatter(*plane.T, c=data.y, s=14, cmap="viridis")
        is_centred = title.startswith("KernelPCA")
        first, second = ("third", "first") if is_centred else ("first", "second")
        kind = "feature" if title == "the points" else "component"
        panel.set(title=title, xlabel=f"{first} {kind}", ylabel=f"{second} {kind}")
    page.colorbar(dots, ax=panels[0, -1], label="radius")
    return page


def settings(records: Sequence[Record]) -> Any:
    """Draw the mistakes of machines over C and h, and of forests over B and m (Figure 3)."""
    page, panels = panels_of_figure(1, 3, (14.0, 4.2))
    shown = (
        ("SVM over h", "SVM, features as they are", "penalty γ"),
        ("SVM over h, standardised", "SVM, features standardised", "penalty γ"),
        ("forests over m", "random forest", "number B of trees"),
    )
    for panel, (method, title, label) in zip(panels[0], shown, strict=True):
        for name, curve in mean_curves(records_of_method(records, method)).items():
            panel.semilogx(curve.x, curve.mean, "o-", markersize=3, label=name)
        panel.set(title=title, xlabel=label, ylabel="mistakes among 3,065 test rows")
        panel.set_ylim(0.0, 1300.0)
        _add_legend(panel)
    return page


def all_subsets(_: Sequence[Record]) -> Any:
    """Draw the AIC of all 1024 subsets against their size (Figure 5)."""
    data = draw("zhu toy", TOY_SEED)
    table, true = exhaustive_search(data.X, data.y), true_columns(data)
    n_true, sizes = table.subsets[:, true].sum(axis=1), table.subsets.sum(axis=1)
    page, panels = panels_of_figure(1, 1, (7.5, 5.0))
    panel = panels[0, 0]
    for number, marker in enumerate("x+^o"):
        those = n_true == number
        place = sizes[those] + 0.12 * (number - 1.5)
        panel.scatter(place, table.scores[those], marker=marker, s=14, label=f"{number}")
    for title, subset, shift in (("true model", true, -2.6), ("least AIC", table.best, 0.8)):
        score = table.scores[(table.subsets == subset).all(axis=1)][0]
        panel.annotate(
            title,
            (subset.sum() + 0.18, score),
            (subset.sum() + shift, score + 14.0),
            arrowprops={"arrowstyle": "->"},
        )
    panel.set(xlabel="size of the subset", ylabel="AIC", xticks=range(11))
    panel.legend(title="true columns")
    return page


def votes(records: Sequence[Record]) -> Any:
    """Draw the share of B = 1, ..., 10 universes that select each column (Figure 6).

    On the left one draw, with a curve for each column; on the right the mean of all draws at
    B = 10, with the published votes.
    """
    page, panels = panels_of_figure(1, 2, (13.0, 4.2))
    left, right = panels[0]
    one = [record for record in records if record.cell.seed == TOY_SEED] or list(records[:1])
    ends: dict[float, list[str]] = {}  # columns by their final share of votes
    for name, curve in mean_curves(one).items():
        is_true = name in ("x2", "x5", "x8")
        colour, style = (POSITIVE, "o-") if is_true else (NEUTRAL, "o:")
        left.plot(curve.x, curve.mean / curve.x, style, markersize=3, color=colour)
        ends.setdefault(curve.mean[-1] / curve.x[-1], []).append(name)
    for share, names in ends.items():
        left.annotate(", ".join(names), (10.0, share + 0.015), ha="right", fontsize=8)
    left.set(
        xlabel="number B of universes",
        ylabel="share of universes",
        title=f"one draw, {GENERATIONS} generations",
        ylim=(-0.03, 1.08),
    )
    means = {name: curve.mean[-1] for name, curve in mean_curves(records).items()}
    colours = [POSITIVE if name in ("x2", "x5", "x8") else NEUTRAL for name in means]
    right.bar(list(means), list(means.values()), color=colours, label=f"mean of {len(records)}")
    if means:
        places = list(means)
        published = {"x2": 9, "x5": 9, "x8": 9, "x6": 4}
        right.plot(
            [places.index(name) for name in published],
            list(published.values()),
            "k_",
            markersize=18,
            label="published, one draw: at least 9; 4",
        )
        right.legend(fontsize=8, ncols=2)
    right.set(xlabel="column", ylabel="votes of 10 universes", title="all draws", ylim=(0, 12))
    return page


def hits(records: Sequence[Record]) -> Any:
    """Draw hit curves: the share of rare test rows found by row of the ranking, per data set."""
    sets = list(dict.fromkeys(record.cell.data for record in records))
    n_columns = min(3, max(1, len(sets)))
    n_rows = max(1, -(-len(sets) // n_columns))
    page, panels = panels_of_figure(n_rows, n_columns, (4.4 * n_columns, 3.6 * n_rows))
    for spare in panels.flat[max(1, len(sets)) :]:
        page.delaxes(spare)
    for panel, data in zip(panels.flat, sets, strict=False):
        for method, label in RANKINGS.items():
            found = records_of_method(records, method, data)
            if found:
                curve = mean_curve(found, "hits")
                panel.plot(curve.x, curve.mean, label=label)
        panel.set(
            title=data,
            xlabel="top-ranked rows / rare rows",
            ylabel="rare rows found, %",
            ylim=(0.0, 100.0),
        )
        _add_legend(panel)
    return page


def _add_legend(panel: Any) -> None:
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=7)


def _with_bars(panel: Any, curve: MeanCurve, label: str) -> None:
    panel.errorbar(curve.x, curve.mean, curve.bar, capsize=2, markersize=3, fmt="o-", label=label)


KERNEL_PICTURES: dict[str, Callable[[Sequence[Record]], Any]] = {
    "projections": projections,
    "perceptrons": perceptrons,
    "pairs of digits": pairs_of_digits,
    "kernel components": kernel_components,
    "settings": settings,
    "all subsets": all_subsets,
    "votes": votes,
    "hits": hits,
}
