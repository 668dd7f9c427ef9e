"""Check kernel matrices, and multiply them by a task kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SYMMETRIC = 1e-10  # tolerance relative to the largest entry
_NEGATIVE = 1e-8  # tolerance for negative eigenvalues, relative to the largest one


def product_kernel(
    K: NDArray[np.float64], s: ArrayLike, t: ArrayLike, k: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the kernel matrix of examples with tasks, K[s, t] k(x, z).

    Parameters
    ----------
    K : ndarray of float64, shape (T, T)
        Task kernel.
    s, t : array_like of int, shape (n,) and (m,)
        Tasks of the examples x and z, as row indices of K.
    k : ndarray of float64, shape (n, m)
        Base kernel of the same examples.

    Returns
    -------
    ndarray of float64, shape (n, m)

    References
    ----------
    Evgeniou, Micchelli, Pontil (2005), JMLR 6; Sheldon (2008), Graphical multi-task learning,
    equation 2.

    Examples
    --------
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> product_kernel(K, [0, 1], [1], np.array([[2.0], [3.0]]))
    array([[1.],
           [3.]])
    """
    return K[np.ix_(np.asarray(s), np.asarray(t))] * k


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
