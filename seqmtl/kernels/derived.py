"""Kernels made from others: scaled to k(x, x) = 1, or given row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.kernels._base import BaseKernel


@dataclass(frozen=True)
class Normalized(BaseKernel):
    """Another kernel scaled to k(x, x) = 1: k(x, z) / sqrt(k(x, x) k(z, z)), 0 where that is 0 / 0.

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

    kind: ClassVar[str] = "normalized"
    kernel: BaseKernel

    def check(self) -> None:
        """Check that there is a kernel to scale."""
        if not isinstance(self.kernel, BaseKernel):
            raise ValueError(f"kernel must be one of seqmtl.kernels, got {self.kernel!r}")

    def __call__(self, X: Any, Z: Any = None) -> NDArray[np.float64]:
        """Return the kernel matrix, shape (n, m)."""
        values = self.kernel(X, Z)
        own = self._scales(X)
        values *= own[:, None]
        values *= own if Z is None else self._scales(Z)
        return values

    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """Return ones, shape (n,); 0 where the kernel of an example with itself is 0."""
        return np.asarray(self.kernel.diagonal(X) > 0.0, dtype=np.float64)

    def resolve(self, X: Any, weight: NDArray[np.float64] | None = None) -> Normalized:
        """Return the kernel with the parameters of the other known."""
        return replace(self, kernel=self.kernel.resolve(X, weight))

    def to_dict(self) -> dict[str, Any]:
        """Describe the kernel in JSON values."""
        return {"kind": self.kind, "kernel": self.kernel.to_dict()}

    def _scales(self, X: Any) -> NDArray[np.float64]:
        diagonal = self.kernel.diagonal(X)
        out = np.zeros_like(diagonal)
        return np.divide(1.0, np.sqrt(diagonal), out=out, where=diagonal > 0.0)


@dataclass(frozen=True)
class KernelRows(BaseKernel):
    """Kernel values given in place of examples: row i holds k(x_i, z_j) for all training examples.

    The second argument holds numbers of training examples, shape (m, 1).
    """

    kind: ClassVar[str] = "rows"
    is_psd: ClassVar[bool] = False

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the columns Z of X, shape (n, m)."""
        rows = np.asarray(X, dtype=np.float64)
        return rows if Z is None else rows[:, np.asarray(Z, dtype=np.int64).reshape(-1)]

    def diagonal(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the diagonal of a square X, shape (n,)."""
        return np.diagonal(np.asarray(X, dtype=np.float64)).copy()
