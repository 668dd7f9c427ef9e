"""Kernels of numbers, and precomputed kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._checks import check_integer, check_number
from seqmtl.kernels._base import BaseKernel, check_symmetric
from seqmtl.sequences import Windows

#: Name of the data-dependent gamma, 1 / (number of features * variance of X).
SCALE = "scale"


@dataclass(frozen=True)
class Linear(BaseKernel):
    """Inner product <x, z> of rows of numbers.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]])
    """

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the kernel matrix, shape (n, m), of X (n, d) and Z (m, d)."""
        from sklearn.metrics.pairwise import linear_kernel

        return np.asarray(linear_kernel(*_pair(X, Z)))


class _Scaled(BaseKernel):
    """A kernel with a factor on inner products or distances."""

    gamma: float | str

    def check(self) -> None:
        """Check gamma."""
        if isinstance(self.gamma, str) and self.gamma != SCALE:
            rule = "a finite number above 0 or 'scale'"
            raise ValueError(f"gamma must be {rule}, got {self.gamma!r}")
        if not isinstance(self.gamma, str):
            check_number("gamma", self.gamma)

    def _factor(self) -> float:
        """Return gamma, which must be numeric at this point."""
        if isinstance(self.gamma, str):
            raise ValueError(
                f"gamma must be a number when the kernel is computed, got {self.gamma!r}; "
                "call resolve(X) with the training examples first"
            )
        return self.gamma

    def resolve(self, X: ArrayLike, weight: NDArray[np.float64] | None = None) -> Self:
        """Return the kernel with a numeric gamma."""
        if self.gamma != SCALE:
            return self
        rows = _pair(X, None)[0]
        means = np.average(rows, axis=0, weights=weight)
        spread = ((rows - means.mean()) ** 2).mean(axis=1)
        variance = float(np.average(spread, weights=weight))
        gamma = 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0
        return replace(self, **{"gamma": gamma})


@dataclass(frozen=True)
class Polynomial(_Scaled):
    """Polynomial kernel (gamma <x, z> + coef0)^degree of rows of numbers.

    Parameters
    ----------
    degree : int, default=2
        At least 1.
    gamma : float or "scale", default=1.0
        Above 0; ``"scale"`` is 1 / (d * variance of X) as in scikit-learn's SVC, computed by
        :meth:`resolve`.
    coef0 : float, default=1.0
        At least 0; negative values do not give a positive semi-definite kernel.
    """

    degree: int = 2
    gamma: float | str = 1.0
    coef0: float = 1.0

    def check(self) -> None:
        """Check the parameters."""
        check_integer("degree", self.degree, 1)
        super().check()
        check_number("coef0", self.coef0, min_val=0.0)

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the kernel matrix, shape (n, m), of X (n, d) and Z (m, d)."""
        from sklearn.metrics.pairwise import polynomial_kernel

        options = {"degree": self.degree, "gamma": self._factor(), "coef0": self.coef0}
        return np.asarray(polynomial_kernel(*_pair(X, Z), **options))


@dataclass(frozen=True)
class RBF(_Scaled):
    """Gaussian kernel exp(-gamma ||x - z||^2) of rows of numbers.

    Parameters
    ----------
    gamma : float or "scale", default=1.0
        Above 0; ``"scale"`` is 1 / (d * variance of X) as in scikit-learn's SVC, computed by
        :meth:`resolve`.

    Examples
    --------
    >>> RBF("scale").resolve([[0.0, 1.0], [1.0, 0.0]])
    RBF(gamma=2.0)
    """

    gamma: float | str = 1.0

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the kernel matrix, shape (n, m), of X (n, d) and Z (m, d)."""
        from sklearn.metrics.pairwise import rbf_kernel

        return np.asarray(rbf_kernel(*_pair(X, Z), gamma=self._factor()))


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(BaseKernel):
    """A precomputed kernel matrix; examples are row indices.

    Parameters
    ----------
    matrix : array_like of float64, shape (N, N)
        Finite and symmetric (to a relative 1e-10). :func:`~seqmtl.kernels.check_psd` tells
        whether it is positive semi-definite.

    Examples
    --------
    >>> Precomputed([[2.0, 1.0], [1.0, 3.0]])([1], [0, 1])
    array([[1., 3.]])
    """

    is_psd: ClassVar[bool] = False
    matrix: NDArray[np.float64]

    def check(self) -> None:
        """Check the matrix, and store it as float64."""
        matrix = np.asarray(self.matrix, dtype=np.float64)
        check_symmetric(matrix, "matrix")
        object.__setattr__(self, "matrix", matrix)

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the submatrix of rows X, shape (n,) or (n, 1), and columns Z."""
        rows = self._numbers(X, "X")
        return self.matrix[np.ix_(rows, rows if Z is None else self._numbers(Z, "Z"))]

    def _numbers(self, X: ArrayLike, name: str) -> NDArray[np.int64]:
        """Check row indices."""
        values = np.asarray(X)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.all(values == values // 1):
            raise ValueError(
                f"{name} must be whole numbers of shape (n,) or (n, 1) with a precomputed kernel, "
                f"got {values.dtype} of shape {values.shape}; give the rows of its matrix"
            )
        n = self.matrix.shape[0]
        outside = values[(values < 0) | (values >= n)]
        if outside.size:
            raise ValueError(
                f"{name} must be row numbers from 0 to {n - 1}, got {outside[0]}; "
                "the matrix must include the examples to be scored"
            )
        return values.astype(np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Precomputed):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix)

    def __repr__(self) -> str:
        n = self.matrix.shape[0]
        return f"Precomputed(<matrix of {n} examples>)"


def _pair(
    X: ArrayLike, Z: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Check rows of numbers: finite, with the same number of columns."""
    first = X[0] if isinstance(X, (list, np.ndarray)) and len(X) else None
    if isinstance(first, str) or isinstance(X, Windows):
        raise ValueError(
            "X must hold numbers with a kernel of numbers, got sequences; choose a kernel such as "
            "'spectrum:4'"
        )
    from sklearn.metrics.pairwise import check_pairwise_arrays

    checked = check_pairwise_arrays(X, Z, dtype=np.float64, accept_sparse=False)
    return checked[0], None if Z is None else checked[1]
