"""The leaderboard's tables, in Markdown."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from leaderboard.board import Board
from leaderboard.comparison import difference, mean_win_rate, ranks
from leaderboard.measures import Measure


def averages(board: Board) -> str:
    """Return the mean and the mean rank of every measure, win rate and times, by method."""
    columns: list[tuple[str, list[str]]] = []
    rank_sums = np.zeros(len(board.methods))
    for measure in board.measures:
        loss, failed, _ = board.loss(measure)
        place = ranks(loss, failed).mean(axis=0)
        wins = 100.0 * mean_win_rate(loss, failed)
        shown = [f"{measure.shown(value):.{measure.decimals}f}" for value in loss.mean(axis=0)]
        columns.append((f"{measure.title} ({len(loss)} sets)", shown))
        columns.append(("rank", [f"{value:.2f}" for value in place]))
        columns.append(("wins, %", [f"{value:.0f}" for value in wins]))
        rank_sums += place
    columns += _times(board)
    order = np.argsort(rank_sums, kind="stable")
    rows = [[board.methods[k], *(cells[k] for _, cells in columns)] for k in order]
    return markdown(["method", *(title for title, _ in columns)], rows)


def _times(board: Board) -> list[tuple[str, list[str]]]:
    fit, predict = board.values["fit_seconds"], board.values["predict_seconds"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of methods that failed everywhere
        times = {
            "fit, s (median)": np.nanmedian(fit, axis=0),
            "fit, s (mean)": np.nanmean(fit, axis=0),
            "predict, s (mean)": np.nanmean(predict, axis=0),
        }
    texts = [(title, [f"{value:.2f}" for value in values]) for title, values in times.items()]
    return [*texts, ("failures", [str(count) for count in board.failed.sum(axis=0)])]


def differences(board: Board, reference: str) -> str:
    """Return each rival's losses minus those of one method, with 95 % intervals."""
    ours = list(board.methods).index(reference)
    rows = []
    for rival, name in enumerate(board.methods):
        if rival != ours:
            cells = [_difference(board, measure, ours, rival) for measure in board.measures]
            rows.append([name, *cells])
    titles = [f"{_loss_title(measure)}: wins–ties–losses" for measure in board.measures]
    return markdown([f"rival, minus {reference}", *titles], rows)


def _loss_title(measure: Measure) -> str:
    return "100 − AUROC" if measure.is_complement else measure.title


def _difference(board: Board, measure: Measure, ours: int, rival: int) -> str:
    loss, failed, sources = board.loss(measure)
    found = difference(loss, failed, ours, rival, sources)
    numbers = [measure.factor * value for value in found[:3]]
    mean, low, high = (f"{value:+.{measure.decimals}f}" for value in numbers)
    return f"{mean} [{low}, {high}]: {found.won}–{found.tied}–{found.lost}"


def per_set(board: Board, measure: Measure) -> str:
    """Return a measure of every method on every set, the best in bold, failures as a dash."""
    mask = board.rows_of(measure)
    loss, failed, _ = board.loss(measure)
    best = np.where(failed, np.inf, loss).min(axis=1)
    rows = [
        [name, *(_cell(measure, *cell, best[k]) for cell in zip(loss[k], failed[k], strict=True))]
        for k, name in enumerate(np.array(board.sets)[mask])
    ]
    return markdown([measure.title, *board.methods], rows)


def _cell(measure: Measure, loss: float, failed: bool, best: float) -> str:
    if failed:
        return "–"
    text = f"{measure.shown(loss):.{measure.decimals}f}"
    return f"**{text}**" if loss <= best else text


def markdown(headings: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
