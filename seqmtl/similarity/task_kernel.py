"""Task kernels: named, checked, positive semi-definite T x T matrices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.similarity.names import match_names
from seqmtl.similarity.trees import read_tree

_PSD_TOLERANCE = 1e-8


class TaskKernel:
    """Similarity K of named tasks; immutable.

    Parameters
    ----------
    names : sequence of str
        Task names, T of them, all different.
    matrix : array_like, shape (T, T)
        K, symmetric positive semi-definite with a positive diagonal.
    source : str, optional
        Where K came from, for people.

    Raises
    ------
    ValueError
        If the shape, the names, the symmetry or the definiteness are wrong.

    Notes
    -----
    The weights of task t are w_t = sum_s K[t, s] v_s: with K = I tasks are independent, with
    K = 11' they share everything (Widmer et al. 2012, eq. 14).
    """

    names: tuple[str, ...]
    matrix: NDArray[np.float64]
    source: str

    __slots__ = ("matrix", "names", "source")

    def __init__(self, names: Sequence[str], matrix: ArrayLike, source: str = "matrix") -> None:
        names = tuple(str(name) for name in names)
        K = np.array(matrix, dtype=np.float64)
        _check(names, K)
        K = 0.5 * (K + K.T)
        K.setflags(write=False)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "matrix", K)
        object.__setattr__(self, "source", source)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"TaskKernel is immutable; cannot set {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskKernel, (self.names, np.array(self.matrix), self.source)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskKernel):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.matrix, other.matrix)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def independent(cls, names: Iterable[str]) -> TaskKernel:
        """K = I: every task on its own."""
        names = tuple(names)
        return cls(names, np.eye(len(names)), "independent")

    @classmethod
    def union(cls, names: Iterable[str]) -> TaskKernel:
        """K = 11': one model for all tasks."""
        names = tuple(names)
        return cls(names, np.ones((len(names), len(names))), "union")

    @classmethod
    def easy(cls, names: Iterable[str], share: float = 0.5) -> TaskKernel:
        """K = share 11' + (1 - share) I: a common part and an own part.

        share = 1/2 is "frustratingly easy" (Daume 2007, K = 11' + I) at unit diagonal, so that C
        means the same as for the other kernels.

        Raises
        ------
        ValueError
            If `share` is outside 0..1.
        """
        names = tuple(names)
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share must be between 0 and 1, got {share}")
        T = len(names)
        return cls(names, share * np.ones((T, T)) + (1.0 - share) * np.eye(T), f"easy({share:g})")

    @classmethod
    def graph(cls, adjacency: ArrayLike, names: Iterable[str]) -> TaskKernel:
        """K = (I + L)^-1 with L = D - A the Laplacian of a graph (Widmer et al. 2012, eq. 8, 11).

        Parameters
        ----------
        adjacency : array_like, shape (T, T)
            A, symmetric, not negative; the diagonal has no effect.
        names : iterable of str
            Task names.
        """
        A = np.array(adjacency, dtype=np.float64)
        names = tuple(names)
        _check_square(names, A, "adjacency")
        if (A < 0).any():
            raise ValueError(f"adjacency must not be negative, got {A.min():g}")
        return cls(names, np.linalg.inv(np.eye(len(names)) + np.diag(A.sum(axis=1)) - A), "graph")

    @classmethod
    def from_newick(
        cls, tree: str | os.PathLike[str], names: Iterable[str] | None = None, base: float = 0.25
    ) -> TaskKernel:
        """Similarity of the leaves of a tree by the path they share from the root.

        K[s, t] = base + (1 - base) shared(s, t) / sqrt(height(s) height(t)), with shared the
        length from the root to the last common ancestor and height that from the root to the
        leaf: the correlation of traits that drift along the branches, plus what all organisms
        have in common. K has a unit diagonal and is positive semi-definite for every tree.

        Parameters
        ----------
        tree : str or path-like
            Newick file (plain or gzip), or Newick text. Branches without length count 1.
        names : iterable of str, optional
            Leaves wanted, in this order; matched without regard to case, blanks and underscores.
            Default: all leaves.
        base : float, default=0.25
            Similarity of organisms whose paths part at the root, 0..1.

        Raises
        ------
        InputFormatError
            If the tree cannot be read, or has doubled or empty names or negative lengths.
        UnknownTaskError
            If a name is not a leaf; lists the near matches.
        """
        if not 0.0 <= base <= 1.0:
            raise ValueError(f"base must be between 0 and 1, got {base}")
        whole = read_tree(tree)
        leaves = whole.leaf_names if names is None else tuple(map(str, names))
        pruned = whole.prune(leaves)
        order = match_names(leaves, pruned.leaf_names, f"the tree {whole.source}")
        shared = pruned.shared()[np.ix_(order, order)]
        height = np.sqrt(np.diagonal(shared))
        if not (height > 0).all():
            name = leaves[int(np.argmin(height))]
            raise InputFormatError(
                f"the leaf {name!r} has no distance from the root; give its branches a length",
                path=whole.source,
            )
        K = base + (1.0 - base) * shared / np.outer(height, height)
        np.fill_diagonal(K, 1.0)
        return cls(leaves, K, f"tree({whole.source})")

    @classmethod
    def from_tsv(cls, path: str | os.PathLike[str]) -> TaskKernel:
        """Read a square table whose first row and first column are the task names.

        Raises
        ------
        InputFormatError
            If the table is not square, not numeric, or not a kernel; names file and line.
        """
        path = os.fspath(path)
        try:
            with open(path, encoding="utf-8-sig") as stream:
                lines = [(i, line.rstrip("\r\n")) for i, line in enumerate(stream, 1)]
        except (OSError, UnicodeDecodeError) as error:
            raise InputFormatError(f"cannot be read as text: {error}", path=path) from error
        table = [(i, line.split("\t")) for i, line in lines if line.strip()]
        if len(table) < 2:
            raise InputFormatError("is not a table of similarities with named rows", path=path)
        names = [name.strip() for name in table[0][1][1:]]
        rows = []
        for (i, fields), name in zip(table[1:], names, strict=False):
            if fields[0].strip() != name or len(fields) != len(names) + 1:
                raise InputFormatError(
                    f"row must start with {name!r} and have {len(names)} numbers, got "
                    f"{fields[0]!r} and {len(fields) - 1}; rows and columns have one order",
                    path=path,
                    line=i,
                )
            try:
                rows.append([float(value) for value in fields[1:]])
            except ValueError as error:
                raise InputFormatError(f"not a number: {error}", path=path, line=i) from error
        if len(table) - 1 != len(names):
            raise InputFormatError(
                f"similarity must be square, got {len(table) - 1} rows and {len(names)} columns",
                path=path,
            )
        try:
            return cls(names, rows, f"table({os.path.basename(path)})")
        except ValueError as error:
            raise InputFormatError(str(error), path=path) from error

    def to_tsv(self) -> str:
        """Return the table that :meth:`from_tsv` reads."""
        lines = ["\t".join(["", *self.names])]
        for name, row in zip(self.names, self.matrix, strict=True):
            lines.append("\t".join([name, *(repr(float(value)) for value in row)]))
        return "\n".join(lines) + "\n"

    def restrict(self, names: Iterable[str]) -> TaskKernel:
        """Return K for some tasks, in the given order and under the given spelling.

        Raises
        ------
        UnknownTaskError
            If a name is not a task of this kernel; lists the near matches.
        """
        wanted = tuple(names)
        order = match_names(wanted, self.names, f"the task kernel from {self.source}")
        return TaskKernel(wanted, self.matrix[np.ix_(order, order)], self.source)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        lines = [f"TaskKernel of {len(self)} tasks from {self.source}"]
        if len(self) <= 12:
            for name, row in zip(self.names, self.matrix, strict=True):
                lines.append(f"  {name:<{width}}  " + " ".join(f"{value:6.3f}" for value in row))
        return "\n".join(lines)


def _check_square(names: Sequence[str], matrix: NDArray[np.float64], what: str) -> None:
    if len(set(names)) != len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"task names must differ, got {doubled!r} twice")
    if any(not name.strip() for name in names):
        raise ValueError("task names must not be empty")
    if matrix.shape != (len(names), len(names)):
        raise ValueError(
            f"{what} must be square with one row per task ({len(names)}), got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"{what} must be finite, got NaN or infinity")
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9):
        s, t = np.unravel_index(np.argmax(np.abs(matrix - matrix.T)), matrix.shape)
        raise ValueError(
            f"{what} must be symmetric, got {matrix[s, t]:g} for ({names[int(s)]}, "
            f"{names[int(t)]}) and {matrix[t, s]:g} the other way round"
        )


def _check(names: Sequence[str], K: NDArray[np.float64]) -> None:
    _check_square(names, K, "similarity")
    if not len(names):
        raise ValueError("similarity must have at least one task")
    if not (np.diagonal(K) > 0).all():
        name = names[int(np.argmin(np.diagonal(K)))]
        raise ValueError(f"similarity must have a positive diagonal, got {K.min():g} for {name!r}")
    smallest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    if smallest < -_PSD_TOLERANCE * float(np.diagonal(K).max()):
        raise ValueError(
            f"similarity must be positive semi-definite, got the eigenvalue {smallest:.3g}; "
            "it is no kernel: use exp(-distance), or add to the diagonal"
        )
