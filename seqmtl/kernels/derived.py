"""Kernels derived from others: normalised, standardised, or given row by row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.kernels._base import BaseKernel, inverse_roots

_ROUNDING = 1e-12  # standard deviations below this, relative to the numbers, count as 0


@dataclass(frozen=True)
class DerivedKernel(BaseKernel):
    """A kernel that changes another one."""

    kernel: BaseKernel

    def check(self) -> None:
        """Check that there is a kernel, and take over what it says of itself."""
        if not isinstance(self.kernel, BaseKernel):
            raise ValueError(f"kernel must be one of seqmtl.kernels, got {self.kernel!r}")
        for name in ("is_psd", "inputs"):
            object.__setattr__(self, name, getattr(self.kernel, name))
        is_standardized = self.is_standardized or self.kernel.is_standardized
        object.__setattr__(self, "is_standardized", is_standardized)


@dataclass(frozen=True)
class Normalized(DerivedKernel):
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

    kind: ClassVar[str] = "normalized"

    def check_examples(self, X: Any) -> None:
        """Check that the base kernel takes the examples."""
        self.kernel.check_examples(X)

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


@dataclass(frozen=True)
class Standardized(DerivedKernel):
    """Another kernel on standardised numbers: k((x - c) / s, (z - c) / s).

    Parameters
    ----------
    kernel : BaseKernel
        A kernel of rows of numbers.
    center, scale : sequence of float, optional
        c and s, one number per column: mean and standard deviation of the training examples,
        computed by :meth:`resolve`. The scale of a constant column is 1.

    Examples
    --------
    >>> from seqmtl.kernels import Linear
    >>> Standardized(Linear()).resolve([[0.0, 5.0], [4.0, 5.0]])([[4.0, 5.0]], [[0.0, 6.0]])
    array([[-1.]])
    """

    kind: ClassVar[str] = "standardized"
    is_standardized: ClassVar[bool] = True
    center: tuple[float, ...] | None = field(default=None, repr=False)
    scale: tuple[float, ...] | None = field(default=None, repr=False)

    def check(self) -> None:
        """Check the kernel, and that center and scale are both valid or both missing."""
        super().check()
        if self.center is None and self.scale is None:
            return
        center, scale = (np.array(given or (), dtype=float) for given in (self.center, self.scale))
        if center.shape != scale.shape or not np.isfinite(center).all() or not (scale > 0).all():
            raise ValueError(
                "center and scale must have one finite number per column, the scale above 0, "
                f"got {self.center} and {self.scale}"
            )
        object.__setattr__(self, "center", tuple(center.tolist()))
        object.__setattr__(self, "scale", tuple(scale.tolist()))

    def check_examples(self, X: Any) -> None:
        """Check the number of columns, and that the base kernel takes the scaled rows."""
        self.kernel.check_examples(self.transform(X))

    def __str__(self) -> str:
        return f"{self.kernel}, standardized"

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the kernel matrix, shape (n, m), of X (n, d) and Z (m, d)."""
        return self.kernel(self.transform(X), None if Z is None else self.transform(Z))

    def resolve(self, X: ArrayLike, weight: NDArray[np.float64] | None = None) -> Standardized:
        """Return the kernel with the rows' mean and deviation, and the base kernel resolved."""
        rows = np.asarray(X, dtype=np.float64)
        center = np.average(rows, axis=0, weights=weight)
        scale = np.sqrt(np.average((rows - center) ** 2, axis=0, weights=weight))
        is_constant = scale <= _ROUNDING * np.abs(rows).max(axis=0)
        scale = np.where(is_constant, 1.0, scale)
        known = replace(self, center=tuple(center.tolist()), scale=tuple(scale.tolist()))
        return replace(known, kernel=self.kernel.resolve(known.transform(rows), weight))

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scaled rows, shape (n, d)."""
        rows = np.asarray(X, dtype=np.float64)
        if self.center is None or self.scale is None:
            raise ValueError(
                "center and scale must be known when the kernel is computed, got None; "
                "call resolve(X) with the training examples first"
            )
        if rows.ndim != 2 or rows.shape[1] != len(self.center):
            raise ValueError(
                f"X must have {len(self.center)} columns like the training examples, "
                f"got the shape {rows.shape}"
            )
        return np.asarray((rows - np.array(self.center)) / np.array(self.scale))


@dataclass(frozen=True)
class KernelRows(BaseKernel):
    """Kernel values in place of examples: row i holds k(x_i, z_j) for all training examples.

    The second argument holds indices of training examples, shape (m, 1).
    """

    kind: ClassVar[str] = "rows"
    is_psd: ClassVar[bool] = False

    def __str__(self) -> str:
        return "the kernel matrix"

    def check_examples(self, X: Any) -> None:
        """Check that the examples are indices."""
        if np.shape(X)[1:] != (1,) or (X % 1).any() or (X < 0).any():
            raise ValueError("examples must be indices, one in a row")

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the columns Z of X, shape (n, m)."""
        rows = np.asarray(X, dtype=np.float64)
        return rows if Z is None else rows[:, np.asarray(Z, dtype=np.int64).reshape(-1)]

    def diagonal(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the diagonal of a square X, shape (n,)."""
        return np.diagonal(np.asarray(X, dtype=np.float64)).copy()
