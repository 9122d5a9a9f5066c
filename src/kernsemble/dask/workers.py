"""Partitions on the workers of a cluster: their survey, and an engine that asks them for sums.

Every block is the result of a Dask task, so that Dask restores those of a lost worker, from the
partitions that they are made of. Tasks run where their blocks are; one per worker and round.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from kernsemble._memory import Budget
from kernsemble._threads import at_most
from kernsemble._typing import FloatArray
from kernsemble.solvers.additive.row_blocks import Engine, RowBlock, Traffic, added
from kernsemble.streaming import Block
from kernsemble.svm.streams.encoding import RowEncoding
from kernsemble.svm.streams.sources import (
    Divide,
    FitGroup,
    RowGroups,
    RowSource,
    SurveySettings,
    checked_block,
)
from kernsemble.svm.streams.survey import Survey

if TYPE_CHECKING:
    import pandas as pd

RETRIES = 5  # number of times a request is repeated after its worker was lost


class DaskEngine(Engine):
    """Blocks on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster.
    blocks : sequence of Future
        Futures of `RowBlock`.
    """

    def __init__(self, client: Any, blocks: Sequence[Any]) -> None:
        super().__init__()
        self.client, self.blocks, self.lock = client, list(blocks), Lock()
        self.groups: list[tuple[list[str] | None, list[Any]]] = []
        self.find_blocks()

    def find_blocks(self) -> None:
        """Group the blocks by worker; those that are being restored are a group of their own."""
        with self.lock, answering(self.client):
            self.groups = by_worker(self.client, self.blocks)

    def ask(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        with answering(self.client):
            asked = [
                submit(self.client, at, call, function, blocks, arguments)
                for at, blocks in self.groups
            ]
            return list(self.client.gather(asked))


def by_worker(client: Any, futures: Sequence[Any]) -> list[tuple[list[str] | None, list[Any]]]:
    """Wait for futures, and return them by worker; None for those that are being restored."""
    from distributed import wait

    wait(futures)  # type: ignore[no-untyped-call]
    places = client.who_has(futures)
    found: dict[str, list[Any]] = {}
    for each in futures:
        found.setdefault(next(iter(places.get(each.key) or ()), ""), []).append(each)
    return [([worker] if worker else None, mine) for worker, mine in found.items()]


def submit(client: Any, at: list[str] | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the future of a call on a worker, or on another one if it is lost."""
    where = {} if at is None else {"workers": at, "allow_other_workers": True}
    return client.submit(function, *arguments, pure=False, retries=RETRIES, **where)


def call(function: Callable[..., Any], blocks: Sequence[RowBlock], arguments: Any) -> Any:
    """Return ``function(blocks, *arguments)``, with the threads of this worker."""
    with at_most(_worker_threads()):
        return function(blocks, *arguments)


def _worker_threads() -> int:
    from distributed import get_worker

    try:
        return max(int(get_worker().state.nthreads), 1)
    except ValueError:  # not in a worker
        return 1


class answering:  # noqa: N801 (used as a context manager)
    """Context manager that turns errors of a lost scheduler into one line."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        import asyncio

        from distributed.comm.core import CommClosedError

        lost = (
            CancelledError,
            asyncio.CancelledError,
            CommClosedError,
            ConnectionError,
            TimeoutError,
        )
        if isinstance(error, lost):
            scheduler = getattr(self.client.scheduler, "address", "unknown")
            raise ConnectionError(
                f"the Dask scheduler at {scheduler} does not answer, or has cancelled the fit "
                f"({type(error).__name__}: {error}): check that it runs, connect a new client, and "
                "fit again"
            ) from error


class DaskSource(RowSource):
    """The partitions of Dask collections.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster.
    parts : sequence of (X, y, sample_weight)
        Delayed partitions; weights may be None.
    """

    is_parallel = True

    def __init__(self, client: Any, parts: Sequence[tuple[Any, Any, Any]]) -> None:
        self.client, self.parts, self.traffic = client, parts, Traffic()

    def survey(self, settings: SurveySettings) -> Survey:
        from dask.delayed import delayed

        tasks = [
            delayed(_survey)(*part, number, settings) for number, part in enumerate(self.parts)
        ]
        with answering(self.client):
            surveys = self.client.compute(tasks)
            while len(surveys) > 1:  # first those of each worker, so that few are sent
                groups = by_worker(self.client, surveys)
                if len(groups) == len(surveys):
                    groups = [(None, surveys)]
                surveys = [submit(self.client, at, Survey.merge, mine) for at, mine in groups]
            found: Survey = surveys[0].result()
        return found

    def encode(
        self,
        encoding: RowEncoding,
        settings: SurveySettings,
        n_rows: int,  # noqa: ARG002 (workers have memory of their own)
        budget: Budget,  # noqa: ARG002
    ) -> tuple[DaskEngine, FloatArray]:
        from dask.delayed import delayed

        how = delayed((encoding, settings), traverse=False)
        tasks = [delayed(_encode)(*part, number, how) for number, part in enumerate(self.parts)]
        with answering(self.client):
            engine = DaskEngine(self.client, self.client.compute(tasks, optimize_graph=True))
            self.traffic = engine.traffic
            for each in engine.blocks:
                if each.status == "error":
                    each.result()
        total: Any = None
        for part in engine.ask(_tally):
            total = added(total, part)
        return engine, total

    def fit_groups(
        self,
        divide: Divide,
        fit: FitGroup,
        n_groups: int,
        settings: SurveySettings,
        on_fitted: Callable[[], None],
    ) -> list[Any]:
        from dask import dataframe as dd
        from dask.delayed import delayed
        from distributed import as_completed

        how = delayed((divide, settings), traverse=False)
        divided = [delayed(_divide)(*part, number, how) for number, part in enumerate(self.parts)]
        fitting, found = delayed(fit, traverse=False), dict[int, Any]()
        with answering(self.client):
            divided = self.client.persist(divided)
            meta = self.client.compute(divided[0][:0]).result()
            frame = dd.from_delayed(divided, meta=meta, verify_meta=False)
            rows = frame.shuffle(on="group", npartitions=n_groups, ignore_index=True)
            tasks = [delayed(_fit_groups)(part, fitting) for part in rows.to_delayed()]
            completed = as_completed(self.client.compute(tasks), with_results=True)  # type: ignore[no-untyped-call]
            for _, fitted in completed:
                found.update(fitted)
                for _ in fitted:
                    on_fitted()
        return [found[group] for group in sorted(found)]


def _survey(X: Any, y: Any, weight: Any, number: int, settings: SurveySettings) -> Survey:
    return settings.survey(Block(X, y, weight), number)


def _encode(
    X: Any, y: Any, weight: Any, number: int, how: tuple[RowEncoding, SurveySettings]
) -> RowBlock:
    """Return the block of a partition, with the tally of its levels."""
    encoding, settings = how
    with at_most(_worker_threads()):
        rows = checked_block(Block(X, y, weight), number, settings.is_classifier)
        block, tally = encoding.encode(*rows, number)
    block.content.tally = tally
    return block


def _divide(
    X: Any, y: Any, weight: Any, number: int, how: tuple[Divide, SurveySettings]
) -> "pd.DataFrame":
    """Return the rows of a partition as a table, with their group and their place."""
    import pandas as pd

    divide, settings = how
    with at_most(_worker_threads()):
        rows = divide(*checked_block(Block(X, y, weight), number, settings.is_classifier))
    table = pd.DataFrame(rows.X, columns=[f"x{d}" for d in range(rows.X.shape[1])])
    place = {"block": number, "row": np.arange(len(table))}
    return table.assign(group=rows.group, y=rows.y, weight=rows.weight, **place)


def _fit_groups(table: "pd.DataFrame", fit: FitGroup) -> dict[int, Any]:
    """Return the fit of every group in a table, whose rows come in any order."""
    table = table.sort_values(["block", "row"])
    group, y, weight = (table.pop(name).to_numpy() for name in ("group", "y", "weight"))
    X = np.ascontiguousarray(table.drop(columns=["block", "row"]).to_numpy())
    with at_most(_worker_threads()):
        return {each[0]: fit(*each) for each in RowGroups(group, X, y, weight).by_group()}


def _tally(blocks: Sequence[RowBlock]) -> FloatArray:
    """Return the sum of the tallies of blocks."""
    total: Any = None
    for block in blocks:
        total = added(total, block.content.tally.copy() if total is None else block.content.tally)
    return total
