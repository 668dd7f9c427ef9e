"""Check kernel matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SYMMETRIC = 1e-10  # tolerance relative to the largest entry
_NEGATIVE = 1e-8  # tolerance for negative eigenvalues, relative to the largest one


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
