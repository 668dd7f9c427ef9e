"""Base class of the base kernels: parameters, validation; check matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

# Plain choices.
_SYMMETRIC = 1e-10  # tolerance relative to the largest entry
_NEGATIVE = 1e-8  # tolerance for negative eigenvalues, relative to the largest one


@dataclass(frozen=True)
class BaseKernel(ABC):
    """A kernel k(x, z) of two examples.

    Kernels are frozen dataclasses: they compare equal if their parameters do, and can be copied
    and used as a parameter of an estimator.

    Attributes
    ----------
    is_psd : bool
        Whether every kernel matrix is positive semi-definite for any data; False if this
        depends on the data.
    inputs : {"numbers", "sequences"}
        What the kernel compares.
    """

    is_psd: ClassVar[bool] = True
    inputs: ClassVar[str] = "numbers"

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:  # noqa: B027
        """Check the parameters, if there are any.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """

    @abstractmethod
    def __call__(self, X: Any, Z: Any = None) -> NDArray[np.float64]:
        """Return the kernel matrix.

        Parameters
        ----------
        X : sequence of n examples
            Examples; the class defines their type.
        Z : sequence of m examples, optional
            Default: X, which gives a symmetric matrix.

        Returns
        -------
        ndarray of float64, shape (n, m)
            ``k(X[i], Z[j])``.
        """

    def resolve(self, X: Any, weight: NDArray[np.float64] | None = None) -> BaseKernel:
        """Return the kernel with data-dependent parameters replaced by numbers.

        They are computed from examples, shape (n, ...), with weights, shape (n,); default: 1.
        """
        return self


def inverse_roots(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / sqrt(values), 0 for 0."""
    return np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0.0)


def check_symmetric(matrix: NDArray[np.float64], name: str) -> None:
    """Check that a kernel matrix is square, finite and symmetric.

    Raises
    ------
    ValueError
        If it is not; the tolerance for symmetry is 1e-10 times the largest entry.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(f"{name} must be finite, got {matrix[i, j]} for examples {i} and {j}")
    gap = np.abs(matrix - matrix.T)
    if gap.size and gap.max() > _SYMMETRIC * np.abs(matrix).max():
        i, j = np.unravel_index(np.argmax(gap), gap.shape)
        raise ValueError(
            f"{name} must be symmetric, got {matrix[i, j]} for examples {i} and {j} and "
            f"{matrix[j, i]} for {j} and {i}; (k + k.T) / 2 is symmetric"
        )


def check_psd(matrix: NDArray[np.float64], name: str) -> None:
    """Check that a kernel matrix is symmetric and positive semi-definite.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n, n)
        Kernel matrix.
    name : str
        Name of the matrix in the message.

    Raises
    ------
    ValueError
        If it is not square, finite and symmetric, or has an eigenvalue below -1e-8 times the
        largest one.
    """
    check_symmetric(matrix, name)
    n = matrix.shape[0]
    if n == 0:
        return
    # the mean eigenvalue is at most the largest, so this faster check implies the one below
    try:
        np.linalg.cholesky(matrix + _NEGATIVE * (np.trace(matrix) / n) * np.eye(n))
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(matrix)
        if values[0] < -_NEGATIVE * max(values[-1], 0.0):
            raise ValueError(
                f"{name} must be positive semi-definite, got the eigenvalue {values[0]:g} (the "
                f"largest is {values[-1]:g}); a kernel is an inner product of features"
            ) from None
