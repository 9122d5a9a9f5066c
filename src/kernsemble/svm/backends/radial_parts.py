"""The radial kernel whose distances determine a kernel, so that several widths share a matrix."""

from kernsemble.kernels import Kernel, Mixed
from kernsemble.kernels.radial import Radial


def radial_part(kernel: Kernel) -> Radial | None:
    """Return the radial kernel whose distances determine a kernel, None if there is none."""
    inner = kernel.kernel if isinstance(kernel, Mixed) else kernel
    return inner if isinstance(inner, Radial) else None
