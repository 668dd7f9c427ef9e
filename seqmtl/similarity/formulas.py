"""Formulas of the task kernels on arrays, in the notation of the papers.

T tasks; A adjacency, L = D - A its Laplacian; Q the inverse of K. Inputs are not checked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory

Matrix = NDArray[np.float64]

_SINGULAR = 1e-12


def laplacian(A: Matrix) -> Matrix:
    """Return L = D - A, where D holds the row sums of A; the diagonal of A is ignored."""
    L = -A
    np.fill_diagonal(L, 0.0)
    np.fill_diagonal(L, -L.sum(axis=1))
    return L


def graph(A: Matrix) -> Matrix:
    """Return K = (I + L)^-1, shape (T, T) (Widmer et al. 2012, eq. 8 and 11)."""
    return _inverse(np.eye(len(A)) + laplacian(A))


def graphical(A: Matrix, a: Matrix) -> Matrix:
    """Return K = D^-1/2 K0 D^-1/2 with K0 = (L + diag(a))^-1 and D = diag(K0), shape (T, T).

    Sheldon 2008, eq. 5, with one a > 0 per task, shape (T,).
    """
    K0 = _inverse(laplacian(A) + np.diag(a))
    scale = np.sqrt(np.diagonal(K0))
    K = K0 / np.outer(scale, scale)
    np.fill_diagonal(K, 1.0)
    return K


def clustering(R: Matrix, lam: float, r: float) -> Matrix:
    """Return K = (lam I + G)^-1 of tasks in C groups, shape (T, T) (Widmer et al. 2015, eq. 13-15).

    G[s, t] = sum_c (r_cs [s = t] - r_cs r_ct / (r + sum_u r_cu)).

    Parameters
    ----------
    R : ndarray, shape (C, T)
        Weight r_cs >= 0 of task s in group c.
    lam : float
        Weight of the norm of every task, >= 0.
    r : float
        Weight of the norm of the centre of every group, >= 0.

    Raises
    ------
    ValueError
        If lam I + G is singular.
    """
    R = R[R.any(axis=1)]
    centre = r + R.sum(axis=1)
    Q = np.diag(lam + R.sum(axis=0)) - R.T @ (R / centre[:, None])
    eigenvalues = np.linalg.eigvalsh(Q)
    if eigenvalues[0] <= _SINGULAR * max(eigenvalues[-1], 1.0):
        raise ValueError(
            f"lam must be positive if r is 0 or a task is in no group, got lam = {lam:g} and "
            f"r = {r:g}; raise lam"
        )
    return _inverse(Q)


def hierarchical(members: NDArray[np.bool_], rho: float, rho0: float) -> Matrix:
    """Return K_m = I / rho + 11' / rho0 on the tasks of node m, zero elsewhere, shape (M, T, T).

    This is the pseudo-inverse of G^m in Widmer et al. 2015, 2.6.2, for r_ms = rho on the tasks of
    the node and centre weight rho0.

    Parameters
    ----------
    members : ndarray of bool, shape (M, T)
        Tasks below every node.
    rho, rho0 : float
        Weights of the distance to the centre and of the centre, > 0.
    """
    M, T = members.shape
    require_memory(16.0 * M * T * T, f"{M} kernels of {T} tasks", "use fewer tasks")
    z = members.astype(np.float64)
    K = z[:, :, None] * z[:, None, :] / rho0
    K[:, np.arange(T), np.arange(T)] += z / rho
    return K


def hierarchical_nodes(
    members: NDArray[np.bool_], rho: float, rho0: float
) -> tuple[Matrix, NDArray[np.int64]]:
    """Return nodes N, shape (T, J), and their kernels, with K_m = sum of N_j N_j' over those of m.

    Kernel m of :func:`hierarchical` has a node of all its tasks, and one for each of them.
    """
    m, t = np.nonzero(members)
    own = np.zeros((members.shape[1], m.size))
    own[t, np.arange(m.size)] = np.sqrt(1.0 / rho)
    nodes = np.concatenate([members.T / np.sqrt(rho0), own], axis=1)
    return nodes, np.concatenate([np.arange(len(members)), m])


def smooth(D: Matrix, scales: Matrix) -> Matrix:
    """Return K_m = exp(-D / sigma_m), shape (M, T, T) (Widmer et al. 2015, 2.6.3).

    Parameters
    ----------
    D : ndarray, shape (T, T)
        Distances.
    scales : ndarray, shape (M,)
        sigma_m > 0, in the unit of the distances.
    """
    return np.asarray(np.exp(-D[None] / scales[:, None, None]))


def shared_path(shared: Matrix, base: float) -> Matrix:
    """Return base + (1 - base) shared[s, t] / sqrt(shared[s, s] shared[t, t]), shape (T, T)."""
    height = np.sqrt(np.diagonal(shared))
    K = base + (1.0 - base) * shared / np.outer(height, height)
    np.fill_diagonal(K, 1.0)
    return np.asarray(K)


def shared_path_nodes(lengths: Matrix, base: float) -> tuple[Matrix, Matrix]:
    """Return N, in two blocks of shape (T, 1) and (T, J), with N N' = :func:`shared_path`.

    Parameters
    ----------
    lengths : ndarray, shape (n_nodes, T)
        Length of the branch above every node, for the tasks below it; 0 for others.
    base : float
        Similarity of tasks without a common path.
    """
    nodes = np.sqrt((1.0 - base) * lengths / lengths.sum(axis=0)).T
    return np.full((len(nodes), 1), np.sqrt(base)), nodes[:, nodes.any(axis=0)]


def is_psd(K: Matrix, tolerance: float) -> bool:
    """Tell whether all eigenvalues of K are at least -tolerance times its largest entry."""
    try:
        np.linalg.cholesky(K + tolerance * np.abs(K).max() * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return True


def nearest_psd(K: Matrix) -> tuple[Matrix, float]:
    """Return the nearest PSD matrix in the Frobenius norm, and the smallest eigenvalue of K."""
    eigenvalues, U = np.linalg.eigh(K)
    return (U * np.maximum(eigenvalues, 0.0)) @ U.T, float(eigenvalues[0])


def _inverse(Q: Matrix) -> Matrix:
    K = np.linalg.inv(Q)
    return np.asarray(0.5 * (K + K.T))
