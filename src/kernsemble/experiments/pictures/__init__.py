"""Pictures of the papers' figures, drawn from records or computed where that is quick."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from kernsemble.experiments.pictures.kernels import KERNEL_PICTURES
from kernsemble.experiments.pictures.machines import MACHINE_PICTURES
from kernsemble.experiments.records import Record

Picture: TypeAlias = Callable[[Sequence[Record]], Any]  # returns a matplotlib figure

PICTURES: dict[str, Picture] = {**KERNEL_PICTURES, **MACHINE_PICTURES}
