"""Convert task kernels given by the user to the matrices of a training run, and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.mkl import KernelSet
from seqmtl.features._base import FeatureDefinition
from seqmtl.relations import TaskKernel
from seqmtl.relations.kinds import PLAIN

#: Similarity of tasks by default: K = (11' + 3 I) / 4.
DEFAULT_SHARE = 0.25
_DIGITS = 9  # to which kernels are equal
_MIN_WEIGHT = 1e-12  # smallest weight of a learnt kernel, relative to the largest


def resolve_kernel(task_kernel: Any, names: tuple[str, ...]) -> TaskKernel:
    """Convert a task kernel given by the user to a :class:`TaskKernel` that covers `names`.

    Parameters
    ----------
    task_kernel : TaskKernel, str, path-like, array, data frame or None
        A kernel; one of "individual", "union", "easy"; a tree, by the name of a shipped one or its
        file; the file of a table; a matrix in the order of `names`, or a data frame labelled with
        them; or None for K = (11' + 3 I) / 4.
    names : tuple of str
        Tasks in the data.

    Returns
    -------
    TaskKernel
        The tasks of the data first, in their order and spelling, then the other tasks of the
        given kernel.

    Raises
    ------
    ValueError, InputFormatError, UnknownTaskError
        If it is none of these, cannot be read, has the wrong size, or lacks a task.
    """
    if task_kernel is None:
        return TaskKernel.easy(names, DEFAULT_SHARE)
    if isinstance(task_kernel, str) and task_kernel in PLAIN:
        kernel: TaskKernel = getattr(TaskKernel, task_kernel)(names)
        return kernel
    if isinstance(task_kernel, (str, os.PathLike)):
        task_kernel = _read_kernel(task_kernel)
    if hasattr(task_kernel, "reindex"):
        task_kernel = TaskKernel(task_kernel.index, task_kernel)
    if not isinstance(task_kernel, TaskKernel):
        return TaskKernel(names, task_kernel)
    if task_kernel.names[: len(names)] == names:
        return task_kernel
    positions = match_names(names, task_kernel.names, f"the task kernel from {task_kernel.source}")
    without_data = [name for i, name in enumerate(task_kernel.names) if i not in set(positions)]
    return task_kernel.restrict([*names, *without_data])


def _read_kernel(source: str | os.PathLike[str]) -> TaskKernel:
    """Return the task kernel of a shipped tree, or of the file of a tree or a table."""
    from seqmtl.files import catalogue
    from seqmtl.files.streams import read_text

    shipped = catalogue.names()
    if not os.path.exists(source):
        if source in shipped:
            return TaskKernel.from_tree(source)
        raise ValueError(
            f"task_kernel must be one of {', '.join(PLAIN)}, a shipped tree "
            f"({', '.join(shipped) or 'none'}), the file of a tree or a table, or a TaskKernel "
            f"such as TaskKernel.graph(A, names), got {os.fspath(source)!r}"
        )
    begin = read_text(source, "a tree or a table").lstrip(" \n\r")
    is_tree = begin.startswith("(") or begin[:6].upper() == "#NEXUS"
    return TaskKernel.from_tree(source) if is_tree else TaskKernel.from_tsv(source)


def resolve_kernels(
    task_kernels: Any, names: tuple[str, ...], norm: float | None = None
) -> TaskKernel:
    """Combine one or several task kernels into one with all their matrices.

    Parameters
    ----------
    task_kernels : sequence, or anything that :func:`resolve_kernel` takes
        Task kernels, each with one or more matrices. Tasks without data stay if all of
        them have the same ones. If weights are learnt, None means 11' and I, or 1 for a single
        task.
    names : tuple of str
        Tasks in the data.
    norm : float, optional
        p of the p-norm on kernel weights, which are then learnt of the :func:`distinct_kernels`.

    Raises
    ------
    ValueError, UnknownTaskError
        If there is none, or one of them is invalid; see :func:`resolve_kernel`.
    """
    if task_kernels is None and norm is not None:
        task_kernels = ["union", "individual"] if len(names) > 1 else ["union"]
    if not isinstance(task_kernels, (list, tuple)):
        task_kernels = [task_kernels]
    if not task_kernels:
        raise ValueError("task_kernel must hold at least one task kernel, got none")
    kernels = [resolve_kernel(kernel, names) for kernel in task_kernels]
    kernel = _joined(kernels, names) if len(kernels) > 1 else kernels[0]
    return kernel if norm is None else distinct_kernels(kernel, len(names))


def _joined(kernels: list[TaskKernel], names: tuple[str, ...]) -> TaskKernel:
    """Return one kernel with the matrices of all; each has the tasks of the data first."""
    first = kernels[0]
    is_same = len({frozenset(kernel.names) for kernel in kernels}) == 1
    kernels = [kernel.restrict(first.names if is_same else names) for kernel in kernels]
    labels = [
        label if kernel.n_kernels > 1 else kernel.source
        for kernel in kernels
        for label in kernel.labels
    ]
    source = " + ".join(kernel.source for kernel in kernels)
    return TaskKernel.join(kernels, source, _distinct(labels))


def kernel_for_solver(
    kernel: TaskKernel, n_tasks: int, n_views: int, norm: float | None = None
) -> tuple[GroupedKernel, KernelSet | None]:
    """Return the task kernel of a training run on the first tasks, as the solvers take it.

    Parameters
    ----------
    kernel : TaskKernel
        K, or K_1..K_M.
    n_tasks, n_views : int
        T, the number of tasks with data, and G, that of the views of the features.
    norm : float, optional
        p of the p-norm on kernel weights. Default: they are not learnt; K is the mean.

    Returns
    -------
    K : GroupedKernel
        That of every view, to begin with if weights are learnt.
    kernels : KernelSet or None
        The kernels to be weighted, which are the product of every view with each task kernel that
        is nonzero on tasks with data. Those of a view are adjacent, in the order of `kernel`.
    """
    stack = kernel.stack.take(slice(n_tasks))
    if norm is None:
        return GroupedKernel.of(stack.means([range(kernel.n_kernels)] * n_views)), None
    used = used_kernels(kernel, n_tasks)
    stack = stack.pick(np.tile(used, n_views))
    kernels = KernelSet(stack, np.repeat(np.arange(n_views), used.size), float(norm))
    return kernels.combine(kernels.start()), kernels


def distinct_kernels(kernel: TaskKernel, n_tasks: int) -> TaskKernel:
    """Return the kernels whose weights are identifiable from the tasks with data.

    Those that are equal on these tasks, such as nested clades of a large tree with the same tasks,
    become one: their mean, with the label of the last, the smallest clade. Clades of a single task
    with data beside others without are left out, as if the tree had only the tasks with data.

    Parameters
    ----------
    kernel : TaskKernel
        K_1..K_M.
    n_tasks : int
        Number of tasks with data, which come first.
    """
    alike: dict[tuple[bytes, float], list[int]] = {}
    is_lost = _is_reduced_to_one(kernel, n_tasks)
    for m, K in enumerate(kernel.stack.take(slice(n_tasks)).matrices()):
        if is_lost[m]:
            continue
        if not K.any():  # of other tasks
            alike[b"", m] = [m]
            continue
        size = float(f"{K.max():.{_DIGITS}e}")
        alike.setdefault(((np.round(K / size, _DIGITS) + 0.0).tobytes(), size), []).append(m)
    groups = sorted(alike.values(), key=lambda group: group[-1])
    if len(groups) == kernel.n_kernels:
        return kernel
    labels = [kernel.labels[group[-1]] for group in groups]
    return TaskKernel(kernel.names, kernel.stack.means(groups), kernel.source, labels=labels)


def _is_reduced_to_one(kernel: TaskKernel, n_tasks: int) -> NDArray[np.bool_]:
    """Return which kernels of several tasks have data of one alone, and are not needed.

    With data of a and d, the clades of ((a,b),c,d) are (a,b), which is that of a alone and left
    out, and (a,b,c,d). With data of a alone, none is left out: no other kernel has data.
    """
    has_task = kernel.stack.diagonals() > 0.0
    n = has_task[:, :n_tasks].sum(axis=1)
    elsewhere = has_task[n > 1].any(axis=0)
    has_one: NDArray[np.bool_] = (n == 1) & (has_task.sum(axis=1) > 1)
    return has_one & (~has_task | elsewhere).all(axis=1)


def used_kernels(kernel: TaskKernel, n_tasks: int) -> NDArray[np.int64]:
    """Return the indices of the kernels that are nonzero on the first tasks."""
    return np.flatnonzero(kernel.stack.diagonals()[:, :n_tasks].any(axis=1))


def learnt_kernel(
    kernel: TaskKernel, n_tasks: int, theta: NDArray[np.float64], views: list[str]
) -> TaskKernel:
    """Return K_g = sum_m theta_gm K_m of every view, for all tasks of the kernels K_m.

    All theta are bounded slightly above 0, so that tasks with data have a similarity in every view.

    Parameters
    ----------
    kernel : TaskKernel
        K_1..K_M.
    n_tasks : int
        Number of tasks with data.
    theta : ndarray, shape (G * M',)
        Weights in the order of :func:`kernel_for_solver`.
    views : list of str
        Names of the views, G of them.
    """
    theta = np.maximum(theta, _MIN_WEIGHT * theta.max()).reshape(len(views), -1)
    stack = kernel.stack.pick(used_kernels(kernel, n_tasks)).mix(theta)
    used = np.flatnonzero(stack.diagonals().any(axis=0))
    names, source = [kernel.names[t] for t in used], f"{kernel.source}, learnt"
    return TaskKernel(names, stack.take(used), source, labels=views)


def view_names(features: FeatureDefinition) -> list[str]:
    """Return a unique name for every view of the features."""
    return _distinct([str(view) for view in features.flat_views()])


def _distinct(labels: list[str]) -> list[str]:
    """Make labels unique by numbering duplicates."""
    seen: dict[str, int] = {}
    out = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        out.append(label if labels.count(label) == 1 else f"{label} ({seen[label]})")
    return out
