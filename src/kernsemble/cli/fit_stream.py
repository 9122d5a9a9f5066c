"""``kernsemble fit`` on tables larger than memory, in blocks of rows or on a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kernsemble._counts import counted
from kernsemble._files import atomic_write
from kernsemble.cli.console import CommandError, WrongUsageError, show_table, write_json, write_line
from kernsemble.cli.fit_output import leaderboard_cells, leaderboard_header
from kernsemble.cli.kernel_search import KernelSearch, LeaderboardEntry, leaderboard, search_summary
from kernsemble.cli.model_files import TableSchema
from kernsemble.cli.progress import FitProgress, ShownTask, bars_or_lines
from kernsemble.cli.stopwatch import Stopwatch
from kernsemble.cli.streamed_table import StreamedTable
from kernsemble.cli.wording import in_options

__all__ = ["StreamedFit", "refuse_options"]

N_FOLDS = 3
MAX_SHOWN = 12
LOCAL = "local"
TIMEOUT = "15s"  # until a scheduler answers


def refuse_options(given: dict[str, Any]) -> None:
    """Raise an error for the first option that needs all rows in memory."""
    for option, value in given.items():
        if value is not None:
            raise WrongUsageError(
                f"{option} needs all rows in memory, and these are read in blocks: omit it, or use "
                "one table that fits into memory"
            )


class StreamedFit(NamedTuple):
    """A fit to rows in blocks.

    `dask` is the address of a scheduler, "local" for a cluster of this machine, or None.
    """

    table: StreamedTable
    search: KernelSearch
    out: Path
    dask: str | None
    watch: Stopwatch

    def run(self, wanted: bool | None, is_json: bool) -> None:
        """Fit, write the model, and show the results."""
        kinds = list(self.table.kinds.values())
        blocks = self.table.blocks()
        self.watch.lap("reading")
        if not is_json:
            n_categories = kinds.count("category")
            write_line(
                f"{self.table.name}: {counted(len(blocks), 'row')}, "
                f"{counted(len(kinds) - n_categories, 'numeric column')} and "
                f"{n_categories} categorical, "
                + ("on a Dask cluster" if self.dask else "read in blocks")
            )
            write_line(f"{self.table.target}: {self.table.task}")
        estimator = self.search.streamed_estimator(self.table.task, N_FOLDS, self.dask is not None)
        with _named_errors(self.table.name), bars_or_lines(wanted) as progress:
            if progress is not None:
                estimator.set_callbacks(FitProgress(progress))
            if self.dask is None:
                task = ShownTask(progress, f"reading {len(blocks):,} rows twice", 2 * len(blocks))
                blocks.on_rows = task.advance
                model = estimator.fit(blocks)
            else:
                model = self._fit_on_dask(estimator)
        if hasattr(model, "set_callbacks"):
            model.set_callbacks()
        self.watch.lap("selection")
        names = tuple(self.table.kinds)
        schema = TableSchema(names, tuple(kinds), self.table.target, self.table.missing)
        schema.attach_to(model)
        from kernsemble.persistence import save

        with atomic_write(self.out) as part:
            save(model, part)
        self.watch.lap("writing")
        board = leaderboard(model, self.search.metric(self.table.task))
        if is_json:
            write_json(self._as_object(model, board, len(blocks)))
        else:
            self._show(model, board)

    def _fit_on_dask(self, estimator: Any) -> Any:
        """Return the local model that was fitted on a cluster."""
        from dask import dataframe as dd

        table, names = self.table, list(self.table.kinds)
        paths = [str(path) for path in table.files]
        with cluster_client(self.dask) as client:
            if table.is_parquet:
                frame = dd.read_parquet(paths)
            else:
                dates = [name for name, kind in table.kinds.items() if kind == "date"]
                frame = dd.read_csv(paths, na_values=list(table.missing), parse_dates=dates)
            frame = frame[[*names, table.target]]
            frame = frame.dropna(subset=[table.target])
            y = frame[table.target]
            if table.task == "classification" and y.dtype.kind not in "iu":
                y = y.astype(str)
            return estimator.set_params(client=client).fit(frame[names], y).to_local()

    def _show(self, model: Any, board: list[LeaderboardEntry]) -> None:
        rows = [
            [str(place), *leaderboard_cells(each)]
            for place, each in enumerate(board[:MAX_SHOWN], start=1)
        ]
        title = f"Leaderboard, means over {model.cv} folds"
        show_table(title, ["", *leaderboard_header(board)], rows)
        write_line(search_summary(model))
        write_line(f"wrote {self.out}")
        write_line(str(self.watch))
        best = board[0]
        write_line(
            f"selected: {best.kernel}, scaling {best.scaling}, C = {best.C:.3g}: "
            f"{best.score.name} {best.score.format(best.score.value)} in cross-validation"
        )

    def _as_object(self, model: Any, board: list[LeaderboardEntry], n_rows: int) -> dict[str, Any]:
        is_classifier = self.table.task == "classification"
        return {
            "command": "fit",
            "task": self.table.task,
            "target": self.table.target,
            "rows": n_rows,
            "columns": self.table.kinds,
            "classes": model.classes_ if is_classifier else None,
            "leaderboard": [{**each._asdict(), "score": each.score._asdict()} for each in board],
            "search": search_summary(model),
            "model": str(self.out),
            "seconds": round(self.watch.seconds, 3),
            "seconds_by_part": {name: round(each, 3) for name, each in self.watch.parts.items()},
        }


@contextmanager
def cluster_client(address: str | None) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, or of a cluster of this machine."""
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        raise CommandError(
            "--dask needs Dask, which is not installed: pip install 'kernsemble[dask]'"
        ) from error
    cluster: Any = LocalCluster
    connect: Any = Client
    if address == LOCAL:
        with cluster(dashboard_address=None) as workers, connect(workers) as client:
            yield client
        return
    try:
        client = connect(address, timeout=TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise CommandError(
            f"--dask {address}: no scheduler answers there within {TIMEOUT}: check the address, "
            "such as tcp://10.0.0.1:8786, or use --dask local"
        ) from error
    with client:
        yield client


@contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """Name the table in errors of the library."""
    try:
        yield
    except ValueError as error:
        raise CommandError(f"{name} cannot be fitted: {in_options(error)}") from error
