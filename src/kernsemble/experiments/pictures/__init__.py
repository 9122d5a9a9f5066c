"""Pictures of the papers' figures, drawn from records or, where that is quick, computed."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from kernsemble.experiments.cells import Record
from kernsemble.experiments.pictures.kernels import KERNEL_PICTURES
from kernsemble.experiments.pictures.machines import MACHINE_PICTURES

Picture: TypeAlias = Callable[[Sequence[Record]], Any]  # a figure of matplotlib

PICTURES: dict[str, Picture] = {**KERNEL_PICTURES, **MACHINE_PICTURES}
