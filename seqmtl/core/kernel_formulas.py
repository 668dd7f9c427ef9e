"""Task kernels as formulas: from graphs, groups, distances and trees to K, shape (T, T).

The arrays are taken to be valid; :class:`seqmtl.relations.TaskKernel` checks them and adds names.

Source: Widmer et al. (2012), eq. 8 and 11; Widmer et al. (2015), eq. 13 to 15 and 19, Sections
2.6.1 to 2.6.3, with eq. 21 as pinv(G_m) (an erratum, see ``docs/papers.md``); Sheldon (2008),
eq. 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.kernel_stack import KernelStack

Array = NDArray[np.float64]


def laplacian(A: Array) -> Array:
    """Return L = diag(A 1) - A; the diagonal of A is ignored."""
    L = -A
    np.fill_diagonal(L, 0.0)
    np.fill_diagonal(L, -L.sum(axis=1))
    return L


def graph(A: Array, a: Array) -> Array:
    """Return K = (L + diag(a))^-1 for a > 0, shape (T,) (2012, eq. 8 and 11).

    Raises
    ------
    numpy.linalg.LinAlgError
        If K a = 1 does not hold by rounding: edge weights differ too much.
    """
    inverse = np.linalg.inv(laplacian(A) + np.diag(a))
    K: Array = 0.5 * (inverse + inverse.T)
    if not np.allclose(K @ a, 1.0, atol=0.001):
        raise np.linalg.LinAlgError("edge weights differ by too many orders of magnitude")
    return K


def components(A: Array) -> NDArray[np.int64]:
    """Return the connected component of every task, numbered from 0, shape (T,)."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(A != 0.0, directed=False)[1], dtype=np.int64)


def graph_without_norm(A: Array) -> Array:
    """Return the pseudo-inverse of L, which is K for a = 0 (2015, eq. 19).

    It is not the inverse of I + L, as printed (an erratum, see ``docs/papers.md``). It is
    orthogonal to the constant vector of each component of the adjacency matrix A.
    """
    component = components(A)
    P = (component[:, None] == component) / np.bincount(component)[component]  # on the null space
    # L and P have the same eigenvectors, so that pinv(L) = (L + P)^-1 - P. As P 1 = 1, the
    # Laplacian of A - P is L + P - I, to which `graph` adds I
    return graph(A - P, np.ones(len(A))) - P


def graphical(A: Array, a: Array) -> Array:
    """Return K of the graph with its rows and columns scaled to a diagonal of 1.

    K[s, t] = M[s, t] / sqrt(M[s, s] M[t, t]) with M = (L + diag(a))^-1; D of the paper is the
    diagonal of M, not the degrees (Sheldon 2008, eq. 5).
    """
    return _unit_diagonal(graph(A, a))


def clustering_inverse(R: Array, lam: float, rho: float) -> Array:
    """Return K^-1 = lam I + G for the weights R of tasks in groups, shape (C, T).

    G[s, t] = sum_c (R_cs [s = t] - R_cs R_ct / (rho + sum_u R_cu)) (2015, eq. 13 to 15, where R_ct
    is rho_c^t).
    """
    return np.asarray(
        np.diag(lam + R.sum(axis=0)) - R.T @ (R / (rho + R.sum(axis=1))[:, None]), dtype=np.float64
    )


def hierarchical(R: Array, rho: float) -> KernelStack:
    """Return K_m = 11' / rho + diag(1 / R_m) on the tasks of group m (2015, Section 2.6.2).

    As a sum over nodes, there is one for every group, of length 1 / rho, and one for every task, of
    length 1 / R_mt. For the tree ((a,b),c), whose groups are abc and ab, and weights of 1,

        nodes N of a, b, c         1 1 1 | 1 1 0 || 1 0 0 | 0 1 0 | 0 0 1
        their lengths in K_abc     1       0        1       1       1
        their lengths in K_ab      0       1        1       1       0

    Parameters
    ----------
    R : ndarray of float64, shape (M, T)
        Weight of every task in every group, rho_m^t, 0 outside.
    rho : float
        Weight of the centre of a group.
    """
    M, T = R.shape
    alone = np.divide(1.0, R, out=np.zeros((M, T)), where=R > 0.0)
    N = np.concatenate([(R > 0.0).T.astype(np.float64), np.eye(T)], axis=1)
    return KernelStack.of_nodes(N, np.concatenate([np.eye(M) / rho, alone], axis=1))


def smooth(D: Array, sigma: Array) -> Array:
    """Return K_m = exp(-D / sigma_m), shape (M, T, T), for distances D (2015, Section 2.6.3).

    Printed without the minus (an erratum, see ``docs/papers.md``).
    """
    return np.exp(-D / sigma[:, None, None])


def shared_path(below: Array, lengths: Array, base: float) -> KernelStack:
    """Return K = base + (1 - base) shared(s, t) / sqrt(height(s) height(t)) of leaves of a tree.

    `shared` is the length from the root to the last common ancestor of two leaves, and height that
    to a leaf: the correlation of traits that drift along the branches, plus a part that all have in
    common. As a sum over branches, K = base 11' + (1 - base) sum_j l_j r_j r_j', where r_jt is
    1 / sqrt(height of t) for the leaves t below branch j, of length l_j, and 0 for others.

    Parameters
    ----------
    below : ndarray of float64, shape (J, T)
        1 for the leaves below each branch, else 0.
    lengths : ndarray of float64, shape (J,)
        Lengths of the branches.
    base : float
        Similarity across the root.
    """
    N = below.T / np.sqrt(lengths @ below)[:, None]
    N = np.concatenate([np.ones((len(N), 1)), N], axis=1)
    return KernelStack.of_nodes(N, np.append(base, (1.0 - base) * lengths)[None])


def _unit_diagonal(K: Array) -> Array:
    scale = np.sqrt(np.diagonal(K))
    K = K / np.outer(scale, scale)
    np.fill_diagonal(K, 1.0)
    return K
