"""Task kernels: one or several named, positive semi-definite T x T matrices."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._checks import check_number
from seqmtl._memory import require_memory
from seqmtl._names import match_names
from seqmtl.core import kernel_formulas
from seqmtl.core.kernel_stack import KernelStack
from seqmtl.exceptions import InputFormatError
from seqmtl.relations import checks

if TYPE_CHECKING:
    from seqmtl.relations.distances import Distances
    from seqmtl.relations.trees import TreeSource

_SINGULAR = 1e-12
_MAX_NAMES = 12


@dataclass(frozen=True, eq=False, init=False, repr=False)
class TaskKernel:
    """Similarity K of named tasks, or several K_m of the same tasks; immutable.

    Parameters
    ----------
    names : sequence of str
        Task names, T of them, all different.
    matrix : array_like, shape (T, T) or (M, T, T), or KernelStack
        K, or K_1..K_M; symmetric positive semi-definite, with a positive mean diagonal. The rows
        and columns of a data frame are labelled with the names, in any order. The nodes of a stack
        are not checked.
    source : str, optional
        Origin of K, for messages.
    labels : sequence of str, optional
        Node, scale or graph of each K_m, M different ones. Default: K1, K2, ...
    not_psd : {"project", "refuse"}
        Replace a non-PSD matrix by the nearest PSD one, with a warning, or raise an error.

    Attributes
    ----------
    names, source, labels
        As given, names and labels as tuples.
    stack : KernelStack
        K_1..K_M, as matrices or, for fast training with many tasks, as sums over nodes of trees.
    matrices : ndarray of float64, shape (M, T, T)
        K_1..K_M, read-only.
    matrix : ndarray of float64, shape (T, T)
        Mean of the K_m, read-only: the K to use if no weights are learnt.

    Raises
    ------
    ValueError
        If the shape, the names, the symmetry or the definiteness are invalid.

    Warns
    -----
    UserWarning
        If a matrix was projected; the message gives the clipped eigenvalue.

    Notes
    -----
    The weights of task t are w_t = sum_s K[t, s] v_s. K = I gives one model per task, K = 11' one
    model for all (Widmer et al. 2012, eq. 16). With several K_m, K is their sum with weights
    theta_m (Widmer et al. 2015, eq. 5).
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    source: str
    stack: KernelStack

    def __init__(
        self,
        names: Iterable[str],
        matrix: ArrayLike | KernelStack,
        source: str = "matrix",
        *,
        labels: Iterable[str] | None = None,
        not_psd: str = "project",
    ) -> None:
        names = checks.check_names(names)
        if isinstance(matrix, KernelStack):
            stack = matrix
        else:
            stack = _as_stack(checks.in_order(matrix, names))
        labels = checks.check_labels(labels, len(stack.values))
        if stack.nodes is None:
            stack = KernelStack(checks.as_kernels(stack.values, names, labels, not_psd))
        mean = stack.diagonals().mean(axis=0)
        if not (mean > 0).all():
            t = int(np.argmin(mean))
            raise ValueError(
                f"similarity must have a positive diagonal, got {mean[t]:g} for {names[t]!r}; "
                "leave the task out, or add the kernel individual"
            )
        self.__dict__.update(names=names, labels=labels, source=str(source), stack=stack)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskKernel):
            return NotImplemented
        is_alike = self.names == other.names and self.labels == other.labels
        return is_alike and np.array_equal(self.matrices, other.matrices)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return partial(type(self), labels=self.labels), (self.names, self.stack, self.source)

    @cached_property
    def matrices(self) -> NDArray[np.float64]:
        """K_1..K_M, shape (M, T, T), read-only."""
        return _read_only(self.stack.matrices())

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """Mean of the K_m, shape (T, T), read-only: the K to use if no weights are learnt."""
        return _read_only(self._mean().matrices()[0])

    def _mean(self) -> KernelStack:
        return self.stack.means([range(self.n_kernels)])

    @property
    def n_kernels(self) -> int:
        """Number M of matrices."""
        return len(self.labels)

    @classmethod
    def from_tsv(cls, path: str | os.PathLike[str]) -> Self:
        """Read a square table with the task names in the first row and the first column.

        Several matrices are several tables, each after a line of ``# kernel``, a tab and a label.

        Parameters
        ----------
        path : str or path-like
            File, plain or gzip.

        Raises
        ------
        InputFormatError
            If a table is not square, not numeric, or not a kernel; the message gives file and line.
        """
        from seqmtl.files.streams import read_text
        from seqmtl.relations import relation_tables

        path = os.fspath(path)
        names, matrices, labels = relation_tables.read_tables(read_text(path, "a table"), path)
        source = f"table({os.path.basename(path)})"
        try:
            return cls(names, matrices, source, labels=labels)
        except ValueError as error:
            raise InputFormatError(str(error), path=path) from error

    def to_tsv(self) -> str:
        """Return the text of a file that :meth:`from_tsv` reads."""
        from seqmtl.relations import relation_tables

        labels = None if self.labels == checks.SINGLE else self.labels
        return relation_tables.write_tables(self.names, self.matrices, labels)

    def restrict(self, names: Iterable[str]) -> Self:
        """Return K for some tasks, in the given order and spelling.

        Matrices K_m that are zero on all of them are dropped.

        Raises
        ------
        UnknownTaskError
            If a name is not a task of this kernel; the message lists near matches.
        """
        requested = tuple(map(str, names))
        order = match_names(requested, self.names, f"the task kernel from {self.source}")
        stack = self.stack.take(order)
        nonzero = np.flatnonzero(stack.diagonals().any(axis=1))
        labels = [self.labels[m] for m in nonzero]
        return type(self)(requested, stack.pick(nonzero), self.source, labels=labels)

    def scaled(self) -> Self:
        """Return the mean of the K_m, scaled to a unit diagonal."""
        mean = self._mean()
        return type(self)(self.names, mean.rescaled(mean.diagonals()[0] ** -0.5), self.source)

    @classmethod
    def join(cls, kernels: Sequence[Self], source: str, labels: Iterable[str]) -> Self:
        """Return one kernel with the matrices of all, which are of the same tasks."""
        stack = KernelStack.join([kernel.stack for kernel in kernels])
        return cls(kernels[0].names, stack, source, labels=labels)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        several = f", mean of {self.n_kernels} kernels," if self.n_kernels > 1 else ""
        what = f"{len(self)} task{'s' * (len(self) > 1)}"
        lines = [f"TaskKernel of {what}{several} from {self.source}"]
        if len(self) <= _MAX_NAMES:
            width = max(len(name) for name in self.names)
            for name, row in zip(self.names, self.matrix, strict=True):
                lines.append(f"  {name:<{width}}  " + " ".join(f"{value:6.3f}" for value in row))
        if self.n_kernels > 1:
            more = ", ..." if self.n_kernels > _MAX_NAMES else ""
            lines.append(f"  kernels: {', '.join(self.labels[:_MAX_NAMES])}{more}")
        return "\n".join(lines)

    @classmethod
    def individual(cls, names: Iterable[str]) -> Self:
        """Return K = I: an independent model for every task."""
        names = tuple(names)
        T = len(names)
        return cls(names, KernelStack.of_nodes(np.eye(T), np.ones((1, T))), "individual")

    @classmethod
    def union(cls, names: Iterable[str]) -> Self:
        """Return K = 11': one model for all tasks."""
        names = tuple(names)
        T = len(names)
        return cls(names, KernelStack.of_nodes(np.ones((T, 1)), np.ones((1, 1))), "union")

    @classmethod
    def easy(cls, names: Iterable[str], share: float = 0.5) -> Self:
        """Return K = share 11' + (1 - share) I: a part shared by all tasks, and one for each.

        share = 1/2 is "frustratingly easy" (Daume 2007, K = 11' + I) scaled to a unit diagonal, so
        that C means the same as for the other kernels.

        Raises
        ------
        ValueError
            If `share` is outside 0..1.
        """
        names = tuple(names)
        check_number("share", share, min_val=0, max_val=1)
        T = len(names)
        N = np.concatenate([np.ones((T, 1)), np.eye(T)], axis=1)
        lengths = np.append(share, np.full(T, 1.0 - share))[None]
        return cls(names, KernelStack.of_nodes(N, lengths), f"easy({share:g})")

    @classmethod
    def graph(cls, adjacency: Any, names: Iterable[str], a: float = 1.0) -> Self:
        """Return K = (a I + L)^-1, L = D - A the graph Laplacian (Widmer et al. 2012, eq. 8, 11).

        Parameters
        ----------
        adjacency : array_like or SciPy sparse, shape (T, T)
            A, symmetric, non-negative; the diagonal is ignored. The graph may have several
            components, and tasks without edges, whose K is 1/a on the diagonal and 0 elsewhere.
        names : iterable of str
            Task names.
        a : float, default=1.0
            Weight of the norm of every task. 0 gives the pseudo-inverse of L (Widmer et al. 2015,
            2.6.1, eq. 19), which is singular: the weights of a component sum to 0, so its tasks
            share what differs between them and lack what they have in common. As `a` tends to 0,
            K grows without bound in that direction instead.

        Raises
        ------
        ValueError
            If A is not an adjacency matrix, `a` is negative, or it is 0 and a task has no edge.
        """
        names = tuple(names)
        return cls(names, _graph(adjacency, names, a), _source_text("graph", a))

    @classmethod
    def graphical(cls, adjacency: Any, names: Iterable[str], a: ArrayLike = 1.0) -> Self:
        """Return K = D^-1/2 (L + diag(a))^-1 D^-1/2, with unit diagonal (Sheldon 2008, eq. 5).

        Parameters
        ----------
        adjacency : array_like or SciPy sparse, shape (T, T)
            A, symmetric, non-negative; the diagonal is ignored.
        names : iterable of str
            Task names.
        a : float or array_like, shape (T,), default=1.0
            Independence of every task, > 0. As a tends to 0, the tasks of a component become one;
            as it tends to infinity, tasks become independent.

        Raises
        ------
        ValueError
            If A is not an adjacency matrix, or an `a` is not positive.
        """
        names = tuple(names)
        A = checks.as_adjacency(adjacency, names)
        values = np.asarray(a, dtype=np.float64)
        if values.shape not in {(), (len(names),)}:
            raise ValueError(
                f"a must be a number or one number per task ({len(names)}), "
                f"got shape {values.shape}"
            )
        for value in values.flat:
            checks.positive(value, "a")
        text = f"{float(values):g}" if not values.ndim else "per task"
        K = kernel_formulas.graphical(A, np.broadcast_to(values, len(names)))
        return cls(names, K, f"graphical(a={text})")

    @classmethod
    def clustering(
        cls,
        groups: Mapping[str, Iterable[str]] | ArrayLike,
        names: Iterable[str] | None = None,
        lam: float = 1.0,
        rho_centre: float = 1.0,
    ) -> Self:
        """Return K = (lam I + G)^-1, which pulls tasks towards the centres of their groups.

        G[s, t] = sum_c (r_cs [s = t] - r_cs r_ct / (rho + sum_u r_cu)), with rho = rho_centre
        (Widmer et al. 2015, eq. 13-15, where r_ct is rho_c^t). A single group of all tasks with
        lam = 0 and rho = 1 gives K = 11' + I.

        Parameters
        ----------
        groups : mapping of str to iterable of str, or array_like, shape (C, T)
            Members of every group (r_cs = 1), or their weights r_cs >= 0 by name; or the matrix
            of weights. A task may be in several groups. Members that are not in `names` are
            ignored.
        names : iterable of str, optional
            Task names. Default: all members, in order of appearance.
        lam : float, default=1.0
            Weight of the norm of every task; may be 0 if every task is in a group
            and rho_centre > 0.
        rho_centre : float, default=1.0
            Weight of the norm of the centre of every group.

        Raises
        ------
        UnknownTaskError
            If a task is in no group; the message lists near matches.
        ValueError
            If a weight is negative, or K is undefined for lam = 0.
        """
        lam = checks.positive(lam, "lam", or_zero=True)
        rho_centre = checks.positive(rho_centre, "rho_centre", or_zero=True)
        if isinstance(groups, Mapping):
            names = checks.check_names(checks.all_members(groups) if names is None else names)
            R = checks.membership(groups, names)
        else:
            names = _required_names(names)
            R = np.array(groups, dtype=np.float64)
        if R.ndim != 2 or R.shape[1] != len(names) or not np.isfinite(R).all():
            raise ValueError(
                f"groups must have finite numbers and one column per task ({len(names)}), "
                f"got shape {R.shape}"
            )
        checks.check_not_negative(R, "groups")
        source = f"clustering({len(R)} groups)"
        R = R[R.any(axis=1)]
        Q = kernel_formulas.clustering_inverse(R, lam, rho_centre)
        eigenvalues = np.linalg.eigvalsh(Q)
        if eigenvalues[0] <= _SINGULAR * max(eigenvalues[-1], 1.0):
            raise ValueError(
                "lam must be positive if rho_centre is 0 or a task is in no group, got "
                f"lam = {lam:g} and rho_centre = {rho_centre:g}; raise lam"
            )
        K = np.linalg.inv(Q)
        return cls(names, 0.5 * (K + K.T), source)

    @classmethod
    def hierarchical(
        cls,
        tree: TreeSource | Mapping[str, Iterable[str]],
        names: Iterable[str] | None = None,
        rho_task: float = 1.0,
        rho_centre: float = 1.0,
    ) -> Self:
        """Return one K_m per inner node of a tree, or per group.

        K_m is I / rho_task + 11' / rho_centre on the tasks of the group, and zero elsewhere, so
        that every clade or group has its own weight (Widmer et al. 2015, 2.6.2, where these are
        rho_m^t and rho). It is the pseudo-inverse of G of :meth:`clustering` for one group. Leaves
        have no kernel of their own: add "individual" to the kernels for that. Training leaves out
        clades without data, and merges those with the same tasks.

        Parameters
        ----------
        tree : Tree, str, path-like or mapping of str to iterable of str
            See :func:`seqmtl.relations.trees.read_tree`; branch lengths are ignored, and nodes
            with one child do not form a group. Or groups as :meth:`clustering` takes them, such as
            the terms of an ontology; of groups with the same tasks the first is used.
        names : iterable of str, optional
            Tasks to include, at least two, in this order. Default: all.
        rho_task : float, default=1.0
            Weight of the distance of a task from the centre of the group, times its weight there.
        rho_centre : float, default=1.0
            Weight of the centre.

        Raises
        ------
        InputFormatError
            If the tree cannot be read.
        UnknownTaskError
            If a name is not a leaf, or in no group; the message lists near matches.
        """
        from seqmtl.relations.trees import prune_to

        rho_task = checks.positive(rho_task, "rho_task")
        rho_centre = checks.positive(rho_centre, "rho_centre")
        if isinstance(tree, Mapping):
            tasks = checks.check_names(checks.all_members(tree) if names is None else names)
            R = checks.membership(tree, tasks)
            source = f"{len(tree)} groups"
            distinct = np.unique(R, axis=0, return_index=True)[1]
            distinct = np.sort(distinct[R[distinct].any(axis=1)])
            R = R[distinct]
            labels = [[*tree][c] for c in distinct]
        else:
            tree, tasks, order = prune_to(tree, names)
            inner = np.setdiff1d(np.arange(len(tree)), tree.leaves)
            R = tree.membership()[np.ix_(inner, order)].astype(np.float64)
            source = tree.source
            labels = [tree.node_names[i] for i in inner]
        M, T = len(R), len(tasks)
        if T < 2:
            raise ValueError(
                f"names must be at least two tasks, got {T} of {source}; a single task has no "
                "relatives: use individual"
            )
        require_memory(16.0 * M * T * T, f"{M} kernels of {T} tasks", "use fewer tasks")
        stack = kernel_formulas.hierarchical(rho_task * R, rho_centre)
        return cls(tasks, stack, f"hierarchical({source})", labels=labels)

    @classmethod
    def smooth(
        cls,
        distances: Distances | ArrayLike,
        scales: Iterable[float] | None = None,
        names: Iterable[str] | None = None,
    ) -> Self:
        """Return K_m = exp(-Dist / sigma_m) for scales sigma_m (Widmer et al. 2015, 2.6.3).

        Parameters
        ----------
        distances : Distances or array_like, shape (T, T)
            Dist, from a tree, an alignment or a table.
        scales : iterable of float, optional
            sigma_m > 0, in the unit of the distances. Default: 1/4, 1 and 4 times the median
            distance between tasks.
        names : iterable of str, optional
            Tasks to include from `distances`; for an array, the required names of its rows.

        Raises
        ------
        ValueError
            If a scale is not positive, or the median distance cannot set the scales.
        """
        from seqmtl.relations.distances import Distances

        sigma = None if scales is None else [checks.positive(s, "scales") for s in scales]
        if not isinstance(distances, Distances):
            names = _required_names(names)
            distances = Distances(names, checks.in_order(distances, names))
        elif names is not None:
            distances = distances.restrict(names)
        D = distances.matrix
        if sigma is None:
            pairs = D[np.triu_indices(len(D), 1)]
            median = float(np.median(pairs)) if pairs.size else 0.0
            if median == 0.0:
                raise ValueError(
                    f"scales must be given if the median distance is 0, as in {distances.source}"
                )
            sigma = [0.25 * median, median, 4.0 * median]
        return cls(
            distances.names,
            kernel_formulas.smooth(D, np.array(sigma)),
            f"smooth({distances.source})",
            labels=[f"sigma={value:.6g}" for value in sigma],
        )

    @classmethod
    def multigraph(
        cls,
        adjacencies: Iterable[Any],
        names: Iterable[str],
        labels: Iterable[str] | None = None,
        a: float = 1.0,
    ) -> Self:
        """Return K_m = (a I + L_m)^-1 for several graphs of the tasks (Widmer et al. 2015, 2.6.1).

        Parameters
        ----------
        adjacencies : iterable of array_like or SciPy sparse, shape (T, T)
            A_1..A_M, see :meth:`graph`.
        names : iterable of str
            Task names.
        labels : iterable of str, optional
            Names of the graphs. Default: graph 1, graph 2, ...
        a : float, default=1.0
            Weight of the norm of every task; 0 gives pseudo-inverses, see :meth:`graph`.
        """
        names = tuple(names)
        K = [_graph(A, names, a) for A in adjacencies]
        labels = [f"graph {m + 1}" for m in range(len(K))] if labels is None else labels
        stack = np.array(K).reshape(-1, len(names), len(names))
        return cls(names, stack, _source_text("graphs", a), labels=labels)

    @classmethod
    def product(cls, kernels: Sequence[Self]) -> Self:
        """Return the product of the kernels of the parts of task names, such as ``mouse_CTCF``.

        The tasks are all combinations of a name of each kernel, joined by ``_``, and
        K[s_a, t_b] = K_1[s, t] K_2[a, b]: the Kronecker product, which is positive semi-definite
        if its factors are. Tasks share if all their parts do.

        Parameters
        ----------
        kernels : sequence of TaskKernel
            Similarities of the parts, in the order of the parts in the names, such as those of
            species and of factors. If one has several matrices, so has the product: one for each
            combination of a matrix of each.

        Raises
        ------
        ValueError
            If there are no kernels, or two combinations give the same name.
        MemoryLimitError
            If the product is too large.

        Examples
        --------
        >>> species = TaskKernel(["human", "mouse"], [[1.0, 0.9], [0.9, 1.0]])
        >>> factors = TaskKernel.individual(["AP1", "CTCF"])
        >>> print(TaskKernel.product([species, factors]))
        TaskKernel of 4 tasks from product(matrix, individual)
          human_AP1    1.000  0.000  0.900  0.000
          human_CTCF   0.000  1.000  0.000  0.900
          mouse_AP1    0.900  0.000  1.000  0.000
          mouse_CTCF   0.000  0.900  0.000  1.000
        """
        if not kernels:
            raise ValueError("kernels must be at least one, got none")
        T = math.prod(len(kernel) for kernel in kernels)
        M = math.prod(kernel.n_kernels for kernel in kernels)
        require_memory(24.0 * M * T * T, f"{M} kernels of {T} tasks", "use fewer tasks")
        names = map("_".join, itertools.product(*(kernel.names for kernel in kernels)))
        labels = map(", ".join, itertools.product(*(kernel.labels for kernel in kernels)))
        stack = [
            functools.reduce(np.kron, matrices)
            for matrices in itertools.product(*(kernel.matrices for kernel in kernels))
        ]
        source = f"product({', '.join(kernel.source for kernel in kernels)})"
        return cls(names, np.array(stack), source, labels=labels if M > 1 else None)

    @classmethod
    def from_tree(
        cls, tree: TreeSource, names: Iterable[str] | None = None, base: float = 0.25
    ) -> Self:
        """Return the similarity of leaves by the path from the root that they share.

        K[s, t] = base + (1 - base) shared(s, t) / sqrt(height(s) height(t)), where shared is the
        length from the root to the last common ancestor, and height that from the root to the
        leaf: the correlation of traits that drift along the branches, plus a part common to all
        organisms. K has a unit diagonal and is positive semi-definite for every tree.

        Parameters
        ----------
        tree : Tree, str or path-like
            See :func:`seqmtl.relations.trees.read_tree`. Missing branch lengths count as 1.
        names : iterable of str, optional
            Leaves to include, in this order; see :func:`seqmtl._names.match_names`.
            Default: all leaves.
        base : float, default=0.25
            Similarity, from 0 to 1, of organisms whose last common ancestor is the root.

        Raises
        ------
        InputFormatError
            If the tree cannot be read, or has repeated or empty names or negative lengths.
        UnknownTaskError
            If a name is not a leaf; the message lists near matches.
        """
        from seqmtl.relations.trees import prune_to

        check_number("base", base, min_val=0, max_val=1)
        tree, tasks, order = prune_to(tree, names)
        below, lengths = tree.membership()[:, order].astype(np.float64), tree.filled_lengths()
        heights = lengths @ below
        if not (heights > 0).all():
            name = tasks[int(np.argmin(heights))]
            raise InputFormatError(
                f"the leaf {name!r} has no distance from the root; give its branches a length",
                path=tree.source,
            )
        K = kernel_formulas.shared_path(below, lengths, base)
        return cls(tasks, K, f"tree({tree.source})")


def _as_stack(matrix: ArrayLike) -> KernelStack:
    try:
        stack = np.asarray(matrix, dtype=np.float64)
    except ValueError:
        raise ValueError("matrix must hold numbers; names come first") from None
    return KernelStack(stack if stack.ndim == 3 else stack[None])


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array


def _required_names(names: Iterable[str] | None) -> tuple[str, ...]:
    if names is None:
        raise ValueError("names must be given with an array, got None")
    return checks.check_names(names)


def _source_text(source: str, a: float) -> str:
    return source if a == 1.0 else f"{source}(a={a:g})"


def _graph(adjacency: Any, names: tuple[str, ...], a: float) -> NDArray[np.float64]:
    """Return (a I + L)^-1, or the pseudo-inverse of L for a = 0."""
    A = checks.as_adjacency(adjacency, names)
    if checks.positive(a, "a", or_zero=True):
        return kernel_formulas.graph(A, np.full(len(names), a))
    return kernel_formulas.graph_without_norm(A)
