"""A kernel derived from another by normalising it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.kernels._base import BaseKernel, inverse_roots


@dataclass(frozen=True)
class Normalized(BaseKernel):
    """Another kernel scaled to k(x, x) = 1: k(x, z) / sqrt(k(x, x) k(z, z)), with 0 / 0 = 0.

    Parameters
    ----------
    kernel : BaseKernel
        The kernel to scale.

    Examples
    --------
    >>> from seqmtl.kernels import Linear
    >>> Normalized(Linear())([[3.0, 4.0]], [[1.0, 0.0], [0.0, 0.0]])
    array([[0.6, 0. ]])
    """

    kernel: BaseKernel

    def check(self) -> None:
        """Check that there is a kernel, and take over what it says of itself."""
        if not isinstance(self.kernel, BaseKernel):
            raise ValueError(f"kernel must be one of seqmtl.kernels, got {self.kernel!r}")
        for name in ("is_psd", "inputs"):
            object.__setattr__(self, name, getattr(self.kernel, name))

    def __call__(self, X: Any, Z: Any = None) -> NDArray[np.float64]:
        """Return the kernel matrix, shape (n, m)."""
        values = self.kernel(X, Z)
        scales = inverse_roots(self.kernel.diagonal(X))
        values *= scales[:, None]
        values *= scales if Z is None else inverse_roots(self.kernel.diagonal(Z))
        return values

    def resolve(self, X: Any, weight: NDArray[np.float64] | None = None) -> Normalized:
        """Return the kernel with the base kernel's parameters resolved."""
        return replace(self, kernel=self.kernel.resolve(X, weight))
