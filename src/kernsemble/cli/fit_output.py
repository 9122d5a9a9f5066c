"""Output of ``kernsemble fit``: data, leaderboard, scores, JSON, and the contents of the report."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernsemble._counts import counted, readable
from kernsemble._folds import fold_scores
from kernsemble.cli.console import note, show_table, write_line
from kernsemble.cli.kernel_search import KernelSearch, LeaderboardEntry, search_summary
from kernsemble.cli.stopwatch import Stopwatch
from kernsemble.cli.training_data import TrainingData
from kernsemble.cli.wording import kernel_in_words
from kernsemble.inspection.fitted_models import as_fitted_model
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import Score, scores
from kernsemble.inspection.vote_members import MemberRow, vote_in_words, vote_members

__all__ = [
    "Fitted",
    "ModelScores",
    "as_object",
    "leaderboard_cells",
    "leaderboard_header",
    "report_contents",
    "score_model",
    "show",
    "show_data",
]

MAX_SHOWN = 12
OUT_OF_FOLD = "out-of-fold rows"
SCORER_NAMES = {  # scores shown for scikit-learn's scorers
    "r2": "R²",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC AUC",
    "neg_log_loss": "log loss",
    "neg_brier_score": "Brier score",
    "neg_mean_absolute_error": "mean absolute error",
    "neg_root_mean_squared_error": "root mean squared error",
}


class ModelScores(NamedTuple):
    """Scores of a model on rows that it was not fitted to, and those of always the same guess."""

    rows: str  # kind of the rows, such as "test rows"
    n_rows: int
    scores: list[Score]
    guess: Any  # the largest class, or the mean
    guessing: dict[str, float]  # scores of the guess

    def headline(self, scoring: str | None) -> Score:
        """Return the score that the model was selected by, or the first one."""
        name = SCORER_NAMES.get(scoring or "", scoring)
        return next((each for each in self.scores if each.name == name), self.scores[0])

    @property
    def rival(self) -> str:
        """The rival that always guesses the same, as text."""
        if isinstance(self.guess, float):
            return f"always guessing the mean ({readable(self.guess)})"
        return f"always guessing {'' if isinstance(self.guess, str) else 'class '}{self.guess!s}"


class Fitted(NamedTuple):
    """The results of a fit, and the files written."""

    data: TrainingData
    model: Any
    search: KernelSearch
    board: list[LeaderboardEntry]
    scored: ModelScores
    out: Path
    report: Path | None
    watch: Stopwatch

    @property
    def members(self) -> list[MemberRow]:
        """Members of the vote, the largest share first; none without a vote."""
        return vote_members(self.model, self.board[0].score.name)


def score_model(
    model: Any, data: TrainingData, tested: TrainingData | None, rows: str
) -> ModelScores:
    """Return the scores on test rows or, without any, those of out-of-fold predictions."""
    if tested is None:
        found, rows = Predictions.from_out_of_fold(model, data.y), OUT_OF_FOLD
    else:
        found = Predictions.from_estimator(model, tested.X, tested.y, "test rows")
    guesses = found.always_guessing(data.y)
    guessing = {each.name: each.value for each in scores(guesses, n_resamples=0)}
    return ModelScores(rows, len(found.y), scores(found), guesses.predicted.tolist()[0], guessing)


def report_contents(
    data: TrainingData, tested: TrainingData | None, board: list[LeaderboardEntry], title: str
) -> dict[str, Any]:
    """Return the contents of a report besides the model."""
    return {
        "X": data.X,
        "y": data.y,
        "X_test": None if tested is None else tested.X,
        "y_test": None if tested is None else tested.y,
        "title": title,
        "leaderboard": [
            dict(zip(leaderboard_header(board), leaderboard_cells(each), strict=True))
            for each in board[:MAX_SHOWN]
        ],
    }


def leaderboard_header(board: list[LeaderboardEntry]) -> list[str]:
    """Return the header of the leaderboard."""
    metric = board[0].score.name
    return ["kernel", "scaling", "C", f"{SCORER_NAMES.get(metric, metric)} ± standard error"]


def leaderboard_cells(entry: LeaderboardEntry) -> list[str]:
    """Return the texts of a row of the leaderboard."""
    return [
        kernel_in_words(entry.kernel),
        "" if entry.scaling is None else entry.scaling,
        "" if entry.C is None else f"{entry.C:.3g}",
        _with_error(entry.score),
    ]


def _with_error(score: Score) -> str:
    error = f" ± {score.format(score.standard_error)}" if np.isfinite(score.standard_error) else ""
    return f"{score.format(score.value)}{error}"


def _show_members(members: list[MemberRow], header: str) -> None:
    """Write a table of the members of a vote."""
    show_table(
        f"Vote of {counted(len(members), 'machine')}",
        ["kernel", "scaling", "C", "weight", "share of the vote", header],
        [
            [
                kernel_in_words(each.kernel),
                each.scaling,
                f"{each.C:.3g}",
                f"{each.weight:.3g}",
                f"{100 * each.share:.0f} %",
                _with_error(each.score),
            ]
            for each in members
        ],
    )


def show_data(
    data: TrainingData, tested: TrainingData | None, path: Path, target: str, is_inferred: bool
) -> None:
    """Write the size of the data, and the task."""
    kinds = list(data.kinds.values())
    n_categories, n_dates = kinds.count("category"), kinds.count("date")
    n_numbers = len(kinds) - n_categories - n_dates
    noun = "column" if len(kinds) == 1 else "columns"
    columns = f"{n_numbers} numeric and {n_categories} categorical {noun}"
    if n_dates:
        columns = f"{n_numbers} numeric, {n_categories} categorical and {n_dates} date {noun}"
    missing = ", with missing values" if data.has_missing else ""
    write_line(
        f"{path}: {data.n_rows:,} rows, {columns}{missing}"
        + (f"; {tested.n_rows:,} rows to test on" if tested is not None else "")
    )
    how = " (inferred; set it with --task)" if is_inferred else ""
    if data.task == "classification":
        classes, counts = np.unique(data.y, return_counts=True)
        shares = ", ".join(
            f"{label!s} {100 * n / data.n_rows:.1f} %"
            for label, n in list(zip(classes, counts, strict=True))[:MAX_SHOWN]
        )
        more = f", and {len(classes) - MAX_SHOWN} more" if len(classes) > MAX_SHOWN else ""
        write_line(f"{target}: classification{how}, {len(classes)} classes: {shares}{more}")
    else:
        write_line(
            f"{target}: regression{how}, from {readable(data.y.min())} to {readable(data.y.max())}"
        )


def show(fitted: Fitted) -> None:
    """Write the leaderboard, the scores, the files and the time; the headline is the last line."""
    board, scored = fitted.board, fitted.scored
    rows = [
        [str(place), *leaderboard_cells(each)]
        for place, each in enumerate(board[:MAX_SHOWN], start=1)
    ]
    n_folds = fold_scores(fitted.model.cv_results_).shape[1]
    how = f"means over {n_folds} folds" if n_folds > 1 else "on one fold"
    show_table(f"Leaderboard, {how}", ["", *leaderboard_header(board)], rows)
    if fitted.members:
        _show_members(fitted.members, leaderboard_header(board)[-1])
    write_line(f"selected: {_selected(fitted)}")
    write_line(search_summary(fitted.model))
    _show_scores(scored)
    for path in (fitted.out, fitted.report):
        if path is not None:
            write_line(f"wrote {path}")
    write_line(str(fitted.watch))
    write_line(headline(scored, fitted.search.scoring))
    if scored.rows == OUT_OF_FOLD and len(board) > 1:
        note(
            f"the best of {len(board)} cross-validation scores is optimistic; use --holdout 0.2 or "
            "--test for an unbiased score"
        )
    if fitted.report is None:
        note("add --report report.html for a report with plots")


def _selected(fitted: Fitted) -> str:
    """Return the selected setting, or the members of the vote."""
    best = fitted.board[0]
    if best.C is None:
        return vote_in_words(fitted.model)
    text = f"{kernel_in_words(best.kernel)}, scaling {best.scaling}, C = {best.C:.3g}"
    n_pairs = len(getattr(fitted.model, "pairs_", ()))
    return f"{text}, {counted(n_pairs, 'pair')} of columns" if fitted.search.n_pairs else text


def _show_scores(scored: ModelScores) -> None:
    rows = [
        [
            each.name,
            each.format(each.value),
            each.interval.partition("CI ")[2],
            each.format(scored.guessing[each.name]),
        ]
        for each in scored.scores
    ]
    together = ", all folds together" if scored.rows == OUT_OF_FOLD else ""
    show_table(
        f"Scores on {scored.n_rows:,} {scored.rows}{together}",
        ["", "value", "95 % CI", scored.rival],
        rows,
    )


def headline(scored: ModelScores, scoring: str | None) -> str:
    """Return the main score with the rival that always guesses the same, in one line."""
    best = scored.headline(scoring)
    text = (
        f"{best.name} {best} on {scored.n_rows:,} {scored.rows}; {scored.rival} "
        f"gives {best.format(scored.guessing[best.name])}"
    )
    errors = [each for each in scored.scores if each.name == "mean absolute error"]
    if errors and errors[0] is not best:
        (error,) = errors
        text += (
            f"; {error.name} {error.format(error.value)} instead of "
            f"{error.format(scored.guessing[error.name])}"
        )
    return text


def as_object(fitted: Fitted, target: str) -> dict[str, Any]:
    """Return the results as a JSON object."""
    data, scored = fitted.data, fitted.scored
    best = scored.headline(fitted.search.scoring)
    return {
        "command": "fit",
        "task": data.task,
        "target": target,
        "rows": data.n_rows,
        "columns": data.kinds,
        "classes": fitted.model.classes_ if data.task == "classification" else None,
        "leaderboard": [{**each._asdict(), "score": each.score._asdict()} for each in fitted.board],
        "members": [{**each._asdict(), "score": each.score._asdict()} for each in fitted.members],
        "pairs": _pair_names(fitted.model),
        "search": search_summary(fitted.model),
        "headline": _score_object(best, scored),
        "scored_on": scored.rows,
        "scored_rows": scored.n_rows,
        "guess": scored.guess,
        "scores": [_score_object(each, scored) for each in scored.scores],
        "model": str(fitted.out),
        "report": fitted.report and str(fitted.report),
        "seconds": round(fitted.watch.seconds, 3),
        "seconds_by_part": {name: round(each, 3) for name, each in fitted.watch.parts.items()},
    }


def _pair_names(model: Any) -> list[list[str]]:
    """Return the names of the columns of each pair that has a function."""
    pairs = getattr(model, "pairs_", ())
    names = as_fitted_model(model).feature_names if pairs else []
    return [[names[column] for column in pair] for pair in pairs]


def _score_object(score: Score, scored: ModelScores) -> dict[str, Any]:
    values = score._asdict()
    del values["standard_error"]  # of means over folds only
    return {**values, "always_guessing": scored.guessing[score.name]}
