"""The rounds of KernelBoost: the function space, the alignments reached, and the stopping rules."""

from enum import Enum
from typing import NamedTuple

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray
from kernsemble.kernels.base import Kernel
from kernsemble.solvers.kernel_boosting import Pairs, PairStatus, Round, alignment_of_features
from kernsemble.solvers.low_rank import LowRank


class KernelBoostEnding(Enum):
    """The reason why boosting ended; the value is shown to users as `ending_`."""

    ALL_ROUNDS = "all rounds were done"
    PERFECT = PairStatus.PERFECT.value
    UNALIGNED = PairStatus.UNALIGNED.value
    NO_CHANGE = "early stopping: the alignment on held-out rows no longer improves"
    INTERRUPTED = "interrupted: the kernel contains the rounds done so far"


class TemplateSpan(NamedTuple):
    """The space of functions spanned by the templates, in an orthonormal basis."""

    kernel: Kernel
    templates: FloatArray
    span: LowRank
    F: FloatArray  # basis functions evaluated at the training rows

    def coordinates(self, X: FloatArray) -> FloatArray:
        """Evaluate the basis functions at the rows of X."""
        return self.span.extension(self.kernel(X, self.templates))


class HeldOutAlignment:
    """The alignment of the kernel with the targets of held-out rows, for early stopping."""

    def __init__(self, F: FloatArray, C: FloatArray, weight: FloatArray) -> None:
        self._F, self._C, self._weight = F, C, weight
        self._Z = np.empty((len(F), 0))
        self.alignments = [alignment_of_features(F, C, weight)]

    def update(self, found: Round) -> None:
        """Compute the alignment after another round."""
        values = np.sqrt(found.alpha) * self._F @ found.q
        self._Z = np.column_stack([self._Z, values])
        self.alignments.append(alignment_of_features(self._Z, self._C, self._weight))

    @property
    def best(self) -> int:
        """The number of rounds after which the alignment was largest."""
        return 1 + int(np.argmax(self.alignments[1:]))


class KernelBoostRounds:
    """Rounds of boosting on pairs, with the loss and the alignments after each."""

    def __init__(
        self, space: TemplateSpan, pairs: Pairs, C: FloatArray, weight: FloatArray
    ) -> None:
        self.space, self._pairs, self._C, self._weight = space, pairs, C, weight
        self.first_loss, self.rounds = pairs.loss, list[Round]()
        self.held_out: HeldOutAlignment | None = None
        self.alignments = [alignment_of_features(space.F, C, weight)]
        self.ending = KernelBoostEnding.ALL_ROUNDS

    def hold_out(self, X: FloatArray, C: FloatArray, weight: FloatArray) -> None:
        """Use held-out rows for early stopping."""
        self.held_out = HeldOutAlignment(self.space.coordinates(X), C, weight)

    def run(self, n_rounds: int, patience: int | None, task: Task) -> None:
        """Run at most `n_rounds` rounds; after an interrupt, those done so far are kept."""
        Z = np.empty((len(self._C), 0))
        try:
            while len(self.rounds) < n_rounds and self.ending is KernelBoostEnding.ALL_ROUNDS:
                found = self._next()
                if found is None:
                    break
                Z = np.column_stack([Z, np.sqrt(found.alpha) * found.u])
                self.alignments.append(alignment_of_features(Z, self._C, self._weight))
                self._check_held_out(found, patience)
                task.note("round", len(self.rounds) - 1)
        except KeyboardInterrupt:
            self.ending = KernelBoostEnding.INTERRUPTED
            raise
        if self.held_out is not None:
            del self.rounds[self.held_out.best :]

    def _next(self) -> Round | None:
        """Return the next round, with the sign at which its function increases with the target."""
        found = self._pairs.advance()
        if found is None:
            self.ending = KernelBoostEnding.UNALIGNED
            if not self.rounds:
                raise ValueError(
                    f"kernel = {self.space.kernel!r}: {PairStatus.UNALIGNED.value}; use another "
                    "kernel, or other templates"
                )
            return None
        if (self._weight * self._C[:, -1]) @ found.u < 0.0:
            found = found._replace(q=-found.q, u=-found.u)
        self.rounds.append(found)
        if found.status is PairStatus.PERFECT:
            self.ending = KernelBoostEnding.PERFECT
        return found

    def _check_held_out(self, found: Round, patience: int | None) -> None:
        if self.held_out is None or patience is None:
            return
        self.held_out.update(found)
        if len(self.rounds) - self.held_out.best >= patience:
            self.ending = KernelBoostEnding.NO_CHANGE
