"""Storage and validation of task kernels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._names import match_names
from seqmtl.core.grouped_kernel import TreeFactors
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import read_text
from seqmtl.files.write import write_lines
from seqmtl.relations import checks, relation_tables

_PSD_TOLERANCE = 1e-8
_SINGLE = ("K",)
_MAX_NAMES = 12


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NamedKernels:
    """Matrices K_1..K_M of named tasks; see :class:`seqmtl.relations.TaskKernel`."""

    names: tuple[str, ...]
    matrix: NDArray[np.float64]
    matrices: NDArray[np.float64]
    labels: tuple[str, ...]
    source: str
    nodes: TreeFactors | None

    def __init__(
        self,
        names: Iterable[str],
        matrix: ArrayLike,
        source: str = "matrix",
        *,
        labels: Iterable[str] | None = None,
        not_psd: str = "project",
        nodes: TreeFactors | None = None,
    ) -> None:
        names = checks.check_names(names)
        try:
            stack = np.array(matrix, dtype=np.float64)
        except ValueError:
            raise ValueError("matrix must hold numbers; names come first") from None
        stack = stack[None] if stack.ndim != 3 else stack
        labels = _check_labels(labels, len(stack))
        _check_matrices(names, stack, labels, not_psd)
        matrices = checks.symmetrized(stack)
        mean = matrices[0] if len(stack) == 1 else matrices.mean(axis=0)
        mean.setflags(write=False)
        if not (np.diagonal(mean) > 0).all():
            t = int(np.argmin(np.diagonal(mean)))
            raise ValueError(
                f"similarity must have a positive diagonal, got {mean[t, t]:g} for {names[t]!r}; "
                "leave the task out, or add the kernel individual"
            )
        self.__dict__.update(
            names=names,
            matrix=mean,
            matrices=matrices,
            labels=labels,
            source=str(source),
            nodes=nodes,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedKernels):
            return NotImplemented
        is_alike = self.names == other.names and self.labels == other.labels
        return is_alike and np.array_equal(self.matrices, other.matrices)

    __hash__ = None  # type: ignore[assignment]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in (self.matrix, self.matrices):  # the arrays of a copy are writable
            array.setflags(write=False)

    @property
    def n_kernels(self) -> int:
        """Number M of matrices."""
        return len(self.matrices)

    @classmethod
    def from_tsv(cls, path: str | os.PathLike[str], *, not_psd: str = "project") -> Self:
        """Read a square table with the task names in the first row and the first column.

        Several matrices are several tables, each after a line of ``# kernel``, a tab and a label.

        Parameters
        ----------
        path : str or path-like
            File, plain or gzip.
        not_psd : {"project", "refuse"}
            See :class:`seqmtl.relations.TaskKernel`.

        Raises
        ------
        InputFormatError
            If a table is not square, not numeric, or not a kernel; the message gives file and line.
        """
        path = os.fspath(path)
        names, matrices, labels = relation_tables.read_tables(read_text(path, "a table"), path)
        source = f"table({os.path.basename(path)})"
        try:
            return cls(names, matrices, source, labels=labels, not_psd=not_psd)
        except ValueError as error:
            raise InputFormatError(str(error), path=path) from error

    def to_tsv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the text that :meth:`from_tsv` reads, and write it to a file if one is given."""
        labels = None if self.labels == _SINGLE else self.labels
        text = relation_tables.write_tables(self.names, self.matrices, labels)
        if path is not None:
            write_lines(path, [text])
        return text

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
        cut = self.matrices[:, order][:, :, order]
        nonzero = [m for m in range(len(cut)) if cut[m].any()]
        labels = [self.labels[m] for m in nonzero]
        nodes = self.nodes and self.nodes.take(order, nonzero)
        return type(self)(requested, cut[nonzero], self.source, labels=labels, nodes=nodes)

    def scaled(self) -> Self:
        """Return the mean of the K_m, scaled to a unit diagonal."""
        scale = np.sqrt(np.diagonal(self.matrix))
        weights = np.full(self.n_kernels, 1.0 / self.n_kernels)
        nodes = self.nodes and self.nodes.combine(weights).scaled(1.0 / scale)
        return type(self)(
            self.names, self.matrix / np.outer(scale, scale), self.source, nodes=nodes
        )

    @classmethod
    def join(cls, kernels: Sequence[Self], source: str, labels: Iterable[str]) -> Self:
        """Return one kernel with the matrices of all, which are of the same tasks."""
        parts = [(kernel.nodes, kernel.n_kernels) for kernel in kernels if kernel.nodes is not None]
        return cls(
            kernels[0].names,
            np.concatenate([kernel.matrices for kernel in kernels]),
            source,
            labels=labels,
            nodes=TreeFactors.join(parts) if len(parts) == len(kernels) else None,
        )

    def combine(self, theta: ArrayLike) -> Self:
        """Return the single kernel sum_m theta_m K_m.

        Parameters
        ----------
        theta : array_like, shape (M,)
            Non-negative weights.

        Raises
        ------
        ValueError
            If there is not one weight per matrix, or a weight is negative or not finite.
        """
        weights = np.asarray(theta, dtype=np.float64)
        if weights.shape != (self.n_kernels,) or not np.isfinite(weights).all():
            raise ValueError(
                f"theta must have one finite number per matrix ({self.n_kernels}), "
                f"got {weights.tolist()}"
            )
        checks.check_not_negative(weights, "theta")
        K = np.einsum("m,mst->st", weights, self.matrices)
        nodes = self.nodes and self.nodes.combine(weights)
        return type(self)(self.names, K, f"{self.source}, weighted", nodes=nodes)

    def __len__(self) -> int:
        return len(self.names)

    def _repr_html_(self) -> str:
        from seqmtl._html import notebook, picture
        from seqmtl.relations.figure import draw_kernel

        title, _, matrix = str(self).partition("\n")
        drawing = picture(lambda: draw_kernel(self.scaled()), str(self))
        return notebook(title, drawing, details="" if drawing else matrix)

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


def _check_labels(labels: Iterable[str] | None, M: int) -> tuple[str, ...]:
    if M == 0:
        raise ValueError("similarity must have at least one matrix, got none")
    if labels is None:
        return _SINGLE if M == 1 else tuple(f"K{m + 1}" for m in range(M))
    labels = tuple(str(label) for label in labels)
    if len(labels) != M or len(set(labels)) != M:
        raise ValueError(f"labels must be one per matrix ({M}) and differ, got {', '.join(labels)}")
    for label in labels:
        if not label.strip() or any(character in label for character in "\t\n\r"):
            raise ValueError(f"labels must be text without tabs and line breaks, got {label!r}")
    return labels


def _check_matrices(
    names: tuple[str, ...], stack: NDArray[np.float64], labels: tuple[str, ...], not_psd: str
) -> None:
    """Check every matrix, and replace a non-PSD matrix by the nearest PSD one."""
    if not_psd not in {"project", "refuse"}:
        raise ValueError(f"not_psd must be project or refuse, got {not_psd!r}")
    for m, label in enumerate(labels):
        what = "similarity" if labels == _SINGLE else f"similarity {label!r}"
        checks.check_square(names, stack[m], what)
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


def _is_psd(K: NDArray[np.float64]) -> bool:
    """Return whether all eigenvalues of K are positive up to a tolerance."""
    try:
        np.linalg.cholesky(K + _PSD_TOLERANCE * np.abs(K).max() * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return True
