"""The rounds of KernelBoost: in which space, how far they came, and when they end."""

from enum import Enum
from typing import NamedTuple

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray
from kernsemble.kernels.base import Kernel
from kernsemble.solvers.kernel_boosting import Pairs, PairStatus, Round, alignment_of_features
from kernsemble.solvers.low_rank import LowRank


class Ending(Enum):
    """Why there were no more rounds; the value is what a user is told."""

    ALL_ROUNDS = "all rounds were done"
    PERFECT = PairStatus.PERFECT.value
    UNALIGNED = PairStatus.UNALIGNED.value
    NO_CHANGE = "the alignment of held-out rows no longer rises"
    INTERRUPTED = "interrupted: the kernel is that reached until then"


class Space(NamedTuple):
    """The functions that are spanned by templates, in an orthonormal basis."""

    kernel: Kernel
    templates: FloatArray
    span: LowRank
    F: FloatArray  # the coordinates of the training rows

    def coordinates(self, X: FloatArray) -> FloatArray:
        """Return the values at rows of the functions of the basis."""
        return self.span.extension(self.kernel(X, self.templates))


class HeldOut:
    """How well the kernel is aligned with the targets of rows that it does not learn from."""

    def __init__(self, F: FloatArray, C: FloatArray, weight: FloatArray) -> None:
        self._F, self._C, self._weight = F, C, weight
        self._Z = np.empty((len(F), 0))
        self.alignments = [alignment_of_features(F, C, weight)]

    def hear(self, found: Round) -> None:
        """Take in a round."""
        values = np.sqrt(found.alpha) * self._F @ found.q
        self._Z = np.column_stack([self._Z, values])
        self.alignments.append(alignment_of_features(self._Z, self._C, self._weight))

    @property
    def best(self) -> int:
        """The number of rounds after which the alignment was largest."""
        return 1 + int(np.argmax(self.alignments[1:]))


class Learning:
    """The rounds, and what is told of them."""

    def __init__(self, space: Space, pairs: Pairs, C: FloatArray, weight: FloatArray) -> None:
        self.space, self._pairs, self._C, self._weight = space, pairs, C, weight
        self.first_loss, self.rounds = pairs.loss, list[Round]()
        self.held_out: HeldOut | None = None
        self.alignments = [alignment_of_features(space.F, C, weight)]
        self.ending = Ending.ALL_ROUNDS

    def hold_out(self, X: FloatArray, C: FloatArray, weight: FloatArray) -> None:
        """Judge rounds by more rows."""
        self.held_out = HeldOut(self.space.coordinates(X), C, weight)

    def run(self, n_rounds: int, patience: int | None, task: Task) -> None:
        """Do the rounds; what was found until an interrupt is there."""
        Z = np.empty((len(self._C), 0))
        try:
            while len(self.rounds) < n_rounds and self.ending is Ending.ALL_ROUNDS:
                found = self._next()
                if found is None:
                    break
                Z = np.column_stack([Z, np.sqrt(found.alpha) * found.u])
                self.alignments.append(alignment_of_features(Z, self._C, self._weight))
                self._judge(found, patience)
                task.note("round", len(self.rounds) - 1)
        except KeyboardInterrupt:
            self.ending = Ending.INTERRUPTED
            raise
        if self.held_out is not None:
            del self.rounds[self.held_out.best :]

    def _next(self) -> Round | None:
        """Return the next round, of which functions are larger where targets are."""
        found = self._pairs.advance()
        if found is None:
            self.ending = Ending.UNALIGNED
            if not self.rounds:
                raise ValueError(
                    f"kernel = {self.space.kernel!r}: {PairStatus.UNALIGNED.value}; give another "
                    "kernel, or other templates"
                )
            return None
        if (self._weight * self._C[:, -1]) @ found.u < 0.0:
            found = found._replace(q=-found.q, u=-found.u)
        self.rounds.append(found)
        if found.status is PairStatus.PERFECT:
            self.ending = Ending.PERFECT
        return found

    def _judge(self, found: Round, patience: int | None) -> None:
        if self.held_out is None or patience is None:
            return
        self.held_out.hear(found)
        if len(self.rounds) - self.held_out.best >= patience:
            self.ending = Ending.NO_CHANGE
