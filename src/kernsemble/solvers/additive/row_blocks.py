r"""Rows in blocks: in memory, in a memory-mapped file, or on the workers of a cluster.

Every request to the rows is sent to all blocks, each answers for its rows, and the answers add up.
A block keeps the state of its rows between requests (decision values, forces, curvatures). What
changes the state is recorded, and the state of a block is a function of its rows and of this
record: a block that was lost, and read again, replays the record and has the same state to the
last bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.rows import Curved, MemoryRows, Presence, Report, Rows, Totals
from kernsemble.solvers.additive.tables import Tables

SHIFTS_PER_ROUND = 64  # number of biases whose slopes are computed in a round
OF_CURVED = ("masses", "product", "hessian")  # requests to the rows with a curvature


class Command(NamedTuple):
    """A request to rows: the name of a method of `MemoryRows`, and its arguments."""

    name: str
    arguments: tuple[Any, ...] = ()


@dataclass
class Run:
    """The rows of a block in a run, the number of commands they have executed, and the last result.

    Each change of the state is one command, so the state is a function of their number.
    """

    rows: MemoryRows
    n_done: int = 0
    last: Any = None


@dataclass(eq=False)
class RowBlock:
    """A block of rows: their codes, whatever their problem is made of, and their state in runs.

    Copies, such as those sent to another machine, have no state.
    """

    codes: IntArray
    content: Any
    runs: dict[str, Run] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"codes": self.codes, "content": self.content, "runs": {}}

    def __sizeof__(self) -> int:
        content = vars(self.content).values() if hasattr(self.content, "__dict__") else ()
        arrays = [each for each in content if isinstance(each, np.ndarray)]
        return int(self.codes.nbytes + sum(each.nbytes for each in arrays))

    def execute(self, name: str, commands: Sequence[Command], n_before: int) -> "Run | None":
        """Bring a run up to date with commands, of which `n_before` others came first.

        Return None if the block has not executed those.
        """
        run = self.runs.get(name)
        if (0 if run is None else run.n_done) < n_before:
            return None
        for place, (method, arguments) in enumerate(commands, start=n_before):
            if run is None:  # the first command makes the rows
                run = self.runs[name] = Run(arguments[0](self))
                run.n_done = 1
            elif place >= run.n_done:
                run.last = getattr(run.rows, method)(*arguments)
                run.n_done += 1
        return run


@dataclass(frozen=True)
class Behind:
    """The answer of blocks that were lost and read again: they need the whole record."""


def answer(
    blocks: Sequence[RowBlock],
    run: str,
    n_before: int,
    commands: Sequence[Command],
    query: Command | None,
) -> Any:
    """Return the sum of the answers of blocks to a query, or else to the last command."""
    total: Any = None
    for place, block in enumerate(blocks):
        state = block.execute(run, commands, n_before)
        if state is None:
            return Behind()
        if query is None:
            mine = state.last
        elif query.name == "apply":
            mine = query.arguments[0](block, state.rows)
        else:
            rows = state.rows.curved() if query.name in OF_CURVED else state.rows
            mine = getattr(rows, query.name)(*query.arguments)
        total = mine if place == 0 else added(total, mine)
    return total


def forget(blocks: Sequence[RowBlock], run: str) -> None:
    """Remove the state of a run."""
    for block in blocks:
        block.runs.pop(run, None)


def added(total: Any, other: Any) -> Any:
    """Return the sum of numbers, of arrays (the first is overwritten), or of tuples of them."""
    if total is None:
        return other
    if isinstance(total, tuple):
        sums = [added(a, b) for a, b in zip(total, other, strict=True)]
        return type(total)(*sums) if hasattr(total, "_fields") else tuple(sums)
    if isinstance(total, np.ndarray) and total.flags.writeable:
        total += other
        return total
    return total + other


def size(message: Any) -> int:
    """Return the bytes of the arrays and numbers of a message."""
    if isinstance(message, np.ndarray):
        return int(message.nbytes)
    if isinstance(message, (tuple, list)):
        return sum(map(size, message))
    return 8


@dataclass
class Traffic:
    """The number of rounds of requests and answers, and the bytes of their arrays and numbers."""

    n_rounds: int = 0
    n_bytes: int = 0


class Engine(ABC):
    """Execution of functions on blocks of rows, wherever these are.

    Attributes
    ----------
    traffic : Traffic
        What has been sent so far.
    """

    def __init__(self) -> None:
        self.traffic = Traffic()

    @abstractmethod
    def ask(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return ``function(blocks, *arguments)`` for groups of blocks; empty blocks included."""

    def find_blocks(self) -> None:  # noqa: B027 (most engines have nothing to do)
        """Find out where the blocks are, after some were lost."""


class LocalEngine(Engine):
    """Blocks of this process, one after another; each uses all threads."""

    def __init__(self, blocks: Sequence[RowBlock]) -> None:
        super().__init__()
        self.blocks = blocks

    def ask(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        return [function(self.blocks, *arguments)]


class CurvedBlocks(Curved):
    """The rows with a curvature, in blocks."""

    def __init__(self, rows: "BlockRows") -> None:
        self.rows = rows

    def masses(self) -> tuple[FloatArray, float]:
        mass, total = self.rows.query("masses")
        return mass, total

    def product(self, g: FloatArray) -> tuple[FloatArray, float]:
        image, change = self.rows.query("product", g)
        return image, change

    def hessian(self) -> FloatArray:
        matrix: FloatArray = self.rows.query("hessian")
        return matrix


class BlockRows(Rows):
    """Rows in blocks, which answer through an engine.

    Parameters
    ----------
    engine : Engine
        The blocks.
    tables : Tables
        Tables of the problem, whose codes do not matter.
    make : callable
        ``make(block)`` returns the rows of a block with their loss, as `MemoryRows`.
    is_kinked, has_corners : bool
        Properties of the loss; see `Rows`.
    """

    def __init__(
        self,
        engine: Engine,
        tables: Tables,
        make: Callable[[RowBlock], MemoryRows],
        is_kinked: bool,
        has_corners: bool,
    ) -> None:
        self.engine, self.run = engine, uuid4().hex
        self.tables = without_rows(tables)
        self.is_kinked, self.has_corners = is_kinked, has_corners
        self.record: list[Command] = [Command("make", (make,))]
        self.t = 0.0  # multiple of the direction by which the rows have moved
        self.n_sent = 0  # commands that all blocks have executed, unless they were lost

    # -- messages

    def query(self, name: str, *arguments: Any) -> Any:
        """Return the sum of the answers to a request that changes nothing."""
        return self._exchange(Command(name, arguments))

    def apply(self, function: Callable[[RowBlock, MemoryRows], Any]) -> Any:
        """Return the sum of ``function(block, rows)`` over all blocks."""
        return self.query("apply", function)

    def command(self, name: str, *arguments: Any) -> Any:
        """Record a request that changes the state, and return the sum of its answers."""
        self.note(name, *arguments)
        return self._exchange(None)

    def note(self, name: str, *arguments: Any) -> None:
        """Record a request without an answer; it is sent with the next one."""
        self.record.append(Command(name, arguments))

    def close(self) -> None:
        """Remove the state of this run from all blocks."""
        self.engine.ask(forget, self.run)

    def _exchange(self, query: Command | None) -> Any:
        answers = self._ask(self.n_sent, query)
        if any(isinstance(each, Behind) for each in answers):
            self.engine.find_blocks()
            answers = self._ask(0, query)
        self.n_sent = len(self.record)
        total = answers[0]
        for each in answers[1:]:
            total = added(total, each)
        return total

    def _ask(self, n_before: int, query: Command | None) -> list[Any]:
        """Send the record from a place on, and return the answers of groups of blocks."""
        message = self.run, n_before, self.record[n_before:], query
        answers = self.engine.ask(answer, *message)
        traffic = self.engine.traffic
        traffic.n_rounds += 1
        traffic.n_bytes += len(answers) * size(message) + size(answers)
        return answers

    # -- the interface of rows

    def presence(self) -> Presence:
        return Presence(*self.query("presence"))

    def target_sums(self, centre: float) -> tuple[float, float]:
        total, squares = self.query("target_sums", centre)
        return total, squares

    def restart(self, beta: FloatArray) -> None:
        self.note("restart", beta)

    def set_strength(self, C: float) -> None:
        """Multiply the strengths of the problem by C."""
        self.note("set_strength", C)

    def parted_forces(self) -> tuple[FloatArray, FloatArray]:
        """Return the sums of each level of the best coefficients at a bound, and of the others."""
        bounded, free = self.query("parted_forces")
        return bounded, free

    def set_stage(self, value: float) -> None:
        self.note("set_stage", value)

    def place(self, g: FloatArray, bias: float) -> Totals:
        return self._moved("place", g, bias).totals

    def totals(self) -> Totals:
        return self.latest.totals

    def shift(self, by: float) -> Totals:
        return self._moved("shift", by).totals

    def aim(self, g: FloatArray, bias: float) -> float:
        """Store a direction, and move along it in the same round."""
        report, self.t = self._moved("aim", g, bias), 1.0
        return report.first

    def move(self, t: float) -> float:
        if t != self.t:
            self._moved("move", t)
            self.t = t
        return self.latest.along

    def forces(self) -> FloatArray:
        sums: FloatArray | None = self.latest.forces
        return self.query("forces") if sums is None else sums

    def n_curved(self) -> int:
        return self.latest.n_curved

    def _moved(self, method: str, *arguments: Any) -> Report:
        """Send a request to move, and store the report on the rows after it."""
        self.latest: Report = self.command("reported", method, arguments)
        return self.latest

    def curved(self) -> CurvedBlocks:
        return CurvedBlocks(self)

    def recenter(self) -> None:
        self.note("recenter")

    def keep(self) -> None:
        self.note("keep")

    def kinked_values(self) -> tuple[float, float]:
        return self.latest.kinked

    def finish(self, g: FloatArray, bias: float) -> tuple[float, float]:
        """Return the best bias given the tables, found by the slopes at many of them."""
        self.place(g, bias)
        if self.query("n_free") == 0:
            shift = self._best_shift()
            self.shift(shift)
            bias += shift
        return bias, self.kinked_values()[0]

    def _best_shift(self) -> float:
        """Return the middle of the biases, relative to the current one, at which no slope is."""
        ends = np.array(self._extremes())
        if not np.isfinite(ends).all():
            return 0.0
        flat = self.query("flatness")
        return 0.5 * (self._first_slope(-flat, *ends) + self._first_slope(flat, *ends))

    def _extremes(self) -> tuple[float, float]:
        """Return a number below and one above all kinks, infinite if there is none."""
        n, total, squares = self.query("kinks")
        if n == 0.0:
            return -np.inf, np.inf
        centre, reach = total / n, np.sqrt(squares)  # no kink is farther from 0
        return min(-reach, centre) - 1.0, max(reach, centre) + 1.0

    def _first_slope(self, level: float, low: float, high: float) -> float:
        """Return the smallest shift beyond which the slope of the loss is at least `level`."""
        while True:
            shifts = np.linspace(low, high, SHIFTS_PER_ROUND)
            slopes = self.query("slopes_beyond", shifts)
            first = int(np.searchsorted(slopes, level))
            if first == 0 or first == len(shifts):
                return float(shifts[min(first, len(shifts) - 1)])
            if (low, high) == (shifts[first - 1], shifts[first]):
                return float(high)
            low, high = shifts[first - 1], shifts[first]


def without_rows(tables: Tables) -> Tables:
    """Return tables with the codes of no row."""
    return replace(tables, codes=tables.codes[:, :0].copy())
