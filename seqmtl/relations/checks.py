"""Checks of task names and matrices."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import brief, check_number
from seqmtl._memory import require_memory
from seqmtl._names import NameIndex, match_names
from seqmtl.exceptions import UnknownTaskError

_PSD_TOLERANCE = 1e-8
SINGLE = ("K",)  # label of a single kernel


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Check that task names are unique, not empty, and fit into a table.

    Raises
    ------
    ValueError
        If they are not; the message gives the name.
    """
    names = tuple(str(name) for name in names)
    if not names:
        raise ValueError("task names must be at least one, got none")
    seen: set[str] = set()
    for name in names:
        if not name.strip():
            raise ValueError("task names must not be empty")
        if any(character in name for character in "\t\n\r"):
            raise ValueError(f"task names must not have tabs or line breaks, got {name!r}")
        if name in seen:
            raise ValueError(f"task names must differ, got {name!r} twice")
        seen.add(name)
    return names


def check_square(names: Sequence[str], matrix: NDArray[np.float64], what: str) -> None:
    """Check that a matrix is square, finite and symmetric.

    Parameters
    ----------
    names : sequence of str
        Tasks, T of them.
    matrix : ndarray, shape (T, T)
        Matrix to check.
    what : str
        Name of the matrix in messages.

    Raises
    ------
    ValueError
        If it is not; the message gives the tasks.
    """
    if matrix.shape != (len(names), len(names)):
        raise ValueError(
            f"{what} must be square with one row per task ({len(names)}), got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        s, t = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"{what} must be finite, got {matrix[s, t]} for ({names[s]}, {names[t]}); "
            "fill the gap or leave the task out"
        )
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * np.abs(matrix).max()):
        s, t = np.unravel_index(np.argmax(np.abs(matrix - matrix.T)), matrix.shape)
        raise ValueError(
            f"{what} must be symmetric, got {matrix[s, t]:g} for ({names[int(s)]}, "
            f"{names[int(t)]}) and {matrix[t, s]:g} the other way round; give one value per pair"
        )


def in_order(matrix: Any, names: Sequence[str]) -> Any:
    """Return a data frame as an array in the order of the names, and another matrix as it is.

    Raises
    ------
    ValueError
        If its rows and columns are not labelled with the names.
    """
    if not hasattr(matrix, "reindex"):
        return matrix
    orders, tasks = [], brief(list(names))
    for labels in (list(map(str, matrix.index)), list(map(str, matrix.columns))):
        if sorted(labels) != sorted(names):
            raise ValueError(
                f"the rows and columns of a data frame must be the tasks, {tasks}, got "
                f"{brief(labels)}; rename them, or give .to_numpy() in the order of the tasks"
            )
        orders.append([labels.index(name) for name in names])
    return matrix.to_numpy()[np.ix_(*orders)]


def check_not_negative(matrix: NDArray[np.float64], what: str) -> None:
    """Check that no entry is negative.

    Raises
    ------
    ValueError
        If one is; the message gives the smallest.
    """
    if (matrix < 0).any():
        raise ValueError(f"{what} must not be negative, got {matrix.min():g}; use numbers from 0")


def symmetrized(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the symmetric part of a matrix or of each in a stack (..., T, T), read-only."""
    symmetric = 0.5 * (matrix + np.swapaxes(matrix, -1, -2))
    symmetric.setflags(write=False)
    return np.asarray(symmetric)


def check_labels(labels: Iterable[str] | None, M: int) -> tuple[str, ...]:
    """Check the labels of M kernels; without them, return default ones."""
    if M == 0:
        raise ValueError("similarity must have at least one matrix, got none")
    if labels is None:
        return SINGLE if M == 1 else tuple(f"K{m + 1}" for m in range(M))
    labels = tuple(str(label) for label in labels)
    if len(labels) != M or len(set(labels)) != M:
        raise ValueError(f"labels must be one per matrix ({M}) and differ, got {', '.join(labels)}")
    for label in labels:
        if not label.strip() or any(character in label for character in "\t\n\r"):
            raise ValueError(f"labels must be text without tabs and line breaks, got {label!r}")
    return labels


def as_kernels(
    matrices: NDArray[np.float64], names: tuple[str, ...], labels: tuple[str, ...], not_psd: str
) -> NDArray[np.float64]:
    """Check K_1..K_M, and replace a non-PSD one by the nearest PSD one; return them read-only."""
    if not_psd not in {"project", "refuse"}:
        raise ValueError(f"not_psd must be project or refuse, got {not_psd!r}")
    stack = np.array(matrices)
    for m, label in enumerate(labels):
        what = "similarity" if labels == SINGLE else f"similarity {label!r}"
        check_square(names, stack[m], what)
        diagonal = np.diagonal(stack[m])
        if (diagonal < 0).any() or not stack[m].any():
            t = int(np.argmin(diagonal))
            raise ValueError(
                f"{what} must have a positive diagonal, got {diagonal[t]:g} for {names[t]!r}"
            )
        if _is_psd(stack[m]):
            continue
        eigenvalues, U = np.linalg.eigh(0.5 * (stack[m] + stack[m].T))
        if not_psd == "refuse":
            raise ValueError(
                f"{what} must be positive semi-definite, got the eigenvalue {eigenvalues[0]:.3g}; "
                "use exp(-distance), or add to the diagonal"
            )
        stack[m] = (U * np.maximum(eigenvalues, 0.0)) @ U.T
        warnings.warn(
            f"{what} is not positive semi-definite and was replaced by the nearest matrix that is: "
            f"eigenvalue {eigenvalues[0]:.3g} clipped to 0",
            UserWarning,
            stacklevel=3,
        )
    return symmetrized(stack)


def _is_psd(K: NDArray[np.float64]) -> bool:
    """Return whether all eigenvalues of K are positive up to a tolerance."""
    try:
        np.linalg.cholesky(K + _PSD_TOLERANCE * np.abs(K).max() * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return True


def as_adjacency(adjacency: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the edge weights of a graph as a dense, validated array, shape (T, T).

    Parameters
    ----------
    adjacency : array_like or SciPy sparse, shape (T, T)
        Non-negative symmetric weights; the diagonal is ignored.
    names : sequence of str
        Tasks, T of them.

    Raises
    ------
    ValueError
        If the shape or the values are invalid.
    """
    T = len(names)
    require_memory(32.0 * T * T, f"a kernel of {T} tasks", "use fewer tasks")
    adjacency = in_order(adjacency, names)
    dense = adjacency.toarray() if hasattr(adjacency, "toarray") else adjacency
    A = np.array(dense, dtype=np.float64)
    check_square(names, A, "adjacency")
    check_not_negative(A, "adjacency")
    return 0.5 * (A + A.T)


def positive(value: float, name: str, *, or_zero: bool = False) -> float:
    """Check that a number is finite and positive, or non-negative if `or_zero`.

    Raises
    ------
    ValueError
        If it is not.
    """
    plain = value.item() if isinstance(value, np.generic) else value  # for the message
    check_number(name, plain, min_val=0 if or_zero else None)
    return float(value)


def all_members(groups: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return the distinct members of all groups, in order of appearance."""
    return tuple(dict.fromkeys(str(name) for members in groups.values() for name in members))


def membership(groups: Mapping[str, Iterable[str]], names: Sequence[str]) -> NDArray[np.float64]:
    """Return r_cs, the weight of task s in group c or 0, shape (C, T).

    Parameters
    ----------
    groups : mapping of str to iterable of str
        Members of every group, or their weights by name; members that are not tasks are ignored.
    names : sequence of str
        Tasks, T of them, matched as :func:`seqmtl._names.match_names` does.

    Raises
    ------
    UnknownTaskError
        If a task is in no group, a member could be several tasks, or two members of a group
        are one task.
    ValueError
        If the members of a group are a single string.
    """
    index = NameIndex(names)
    R = np.zeros((len(groups), len(names)))
    for c, (label, members) in enumerate(groups.items()):
        if isinstance(members, str):
            raise ValueError(f"groups must have lists of members, got {members!r} for {label!r}")
        weights = members if isinstance(members, Mapping) else dict.fromkeys(members, 1.0)
        tasks = {str(name): weight for name, weight in weights.items() if index.find(str(name))}
        R[c, match_names(tasks, names, f"the tasks of the group {label!r}")] = [*tasks.values()]
    if not R.any(axis=0).all():
        name = names[int(np.argmin(R.any(axis=0)))]
        hint = NameIndex(all_members(groups)).hint(name)
        raise UnknownTaskError(f"task {name!r} is not in any of the groups; {hint}", name)
    return R
