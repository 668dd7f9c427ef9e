"""Weighted-degree string features, generated on the fly (COFFIN; math: k(x, x') of WD kernels).

k(x, x') = sum_d beta_d sum_l [x[l:l+d] == x'[l:l+d]] with one feature sqrt(beta_d) for every
position l and d-mer there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.blocks import RowBlock
from seqmtl.features._base import (
    BlockBuffers,
    FeatureDefinition,
    add_by_blocks,
    gram_matrix,
    score_by_blocks,
    virtual_gram,
)
from seqmtl.sequences import Windows

if TYPE_CHECKING:
    from seqmtl.features.weighted_degree_tree import WeightedDegreeTree

MAX_DEGREE = 20
_TILE = 512  # windows compared at a time, so that their bit planes stay in cache
_PAIRS = 3072  # windows that are sooner compared pair by pair than gathered
_FOLD_BYTES = 4 << 20  # fold tables of a few positions at a time, so that they stay in cache


class WeightedDegree(FeatureDefinition):
    """Weighted-degree features of windows of DNA.

    Parameters
    ----------
    degree : int, default=8
        Longest substring D, 1 to 20.
    weighting : {"wd", "flat"}, default="wd"
        ``"wd"``: beta_d = 2 (D - d + 1) / (D (D + 1)); ``"flat"``: beta_d = 1 / D.
    normalize : bool, default=True
        Divide every row by its norm, so that k(x, x) = 1.
    hash_bits : int, optional
        Hash into 2**hash_bits features, 1 to 30. Default: exact indices while the weights of one
        task fit `max_memory`, hashed to 22 bits beyond.
    max_memory : float, default=1.0
        GiB that the float32 weights of one task may take with exact indices.

    Notes
    -----
    The exact index of a d-mer is ``offset_d + l * 4**d + code`` with offset_d = L (4 + ... +
    4**(d-1)) and the code the base-4 number of the d-mer, A, C, G, T = 0 to 3, first letter most
    significant; n_features = L (4 + ... + 4**D). The hashed index is the splitmix64 finaliser of
    ``(code + slot * 0x9E3779B97F4A7C15) ^ (slot << 40)``, slot = 32 l + d, modulo 2**64, cut to
    the lowest hash_bits bits; it is part of the model format and never changes.

    Rows are divided by the norm of the exact features; hash collisions inside a row change
    k(x, x) by a relative 1e-4 at the default size.

    References
    ----------
    Sonnenburg, Franc (2010), COFFIN; Raetsch, Sonnenburg (2004), weighted-degree kernel.

    Examples
    --------
    >>> from seqmtl import WeightedDegree
    >>> WeightedDegree(degree=2).transform(["ACGT", "AGGT"]).shape
    (2, 80)
    """

    kind = "weighted_degree"

    def __init__(
        self,
        degree: int = 8,
        weighting: str = "wd",
        normalize: bool = True,
        hash_bits: int | None = None,
        max_memory: float = 1.0,
    ) -> None:
        self.degree = degree
        self.weighting = weighting
        self.normalize = normalize
        self.hash_bits = hash_bits
        self.max_memory = max_memory

    def bind(self, data: Windows) -> WeightedDegreeRows:
        """Attach the map to windows.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        TypeError
            If `data` is not a :class:`~seqmtl.sequences.Windows`.
        """
        if not isinstance(data, Windows):
            raise TypeError(
                f"WeightedDegree needs Windows of DNA, got {type(data).__name__}; "
                "read them with read_windows or Windows.from_strings"
            )
        self._check()
        return WeightedDegreeRows(self, data)

    def _check(self) -> None:
        if not (isinstance(self.degree, (int, np.integer)) and 1 <= self.degree <= MAX_DEGREE):
            raise ValueError(f"degree must be an integer from 1 to {MAX_DEGREE}, got {self.degree}")
        if self.weighting not in ("wd", "flat"):
            raise ValueError(f"weighting must be 'wd' or 'flat', got {self.weighting!r}")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= 30:
            raise ValueError(f"hash_bits must be from 1 to 30, got {self.hash_bits}")

    def beta(self) -> NDArray[np.float64]:
        """Return beta_1 .. beta_D, shape (D,)."""
        D = self.degree
        if self.weighting == "flat":
            return np.full(D, 1.0 / D)
        return 2.0 * (D - np.arange(D)) / (D * (D + 1))

    def resolved_hash_bits(self, length: int) -> int:
        """Return the bits of the hash for windows of `length` bases, 0 for exact indices."""
        if self.hash_bits is not None:
            return int(self.hash_bits)
        n_exact = self._n_exact(length)
        fits = n_exact * 4 <= self.max_memory * 2**30 and n_exact < 2**31
        return 0 if fits else 22

    def n_features(self, length: int) -> int:
        """Return the number of features of windows of `length` bases."""
        bits = self.resolved_hash_bits(length)
        return 1 << bits if bits else self._n_exact(length)

    def _n_exact(self, length: int) -> int:
        return length * (4 ** (int(self.degree) + 1) - 4) // 3

    def to_dict(self, length: int) -> dict[str, Any]:
        """Describe the map as it is resolved for windows of `length` bases (model files)."""
        return {
            "kind": self.kind,
            "degree": int(self.degree),
            "weighting": self.weighting,
            "normalize": bool(self.normalize),
            "hash_bits": self.resolved_hash_bits(length),
        }

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> WeightedDegree:
        """Rebuild the map from :meth:`to_dict`."""
        bits = description["hash_bits"]
        definition = cls(
            degree=description["degree"],
            weighting=description["weighting"],
            normalize=description["normalize"],
            hash_bits=bits or None,
            max_memory=1.0 if bits else np.inf,
        )
        definition._check()
        return definition


class WeightedDegreeRows:
    """Weighted-degree features of given windows; see :class:`seqmtl.blocks.Rows`."""

    def __init__(self, definition: WeightedDegree, windows: Windows) -> None:
        self.windows = windows
        self.degree = int(min(definition.degree, windows.length))
        self.root_beta = np.sqrt(definition.beta()[: self.degree])
        self.n_rows = len(windows)
        self.hash_bits = definition.resolved_hash_bits(windows.length)
        sizes = windows.length * 4 ** np.arange(1, definition.degree + 1, dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])[: self.degree]
        self.n_features = definition.n_features(windows.length)
        self.row_size = sum(windows.length - k for k in range(self.degree))
        self._normalize = definition.normalize
        self._raw_norms = self._squared_norms()
        self.scale = self._row_scale()
        self._buffers = BlockBuffers()
        self._fold_rows = 4**self.degree // 32  # windows of a task from which folding pays
        self.scoring_cost = 0.25 if self._folds(self.n_rows) else 0.8

    def _squared_norms(self) -> NDArray[np.float64]:
        from seqmtl.features._wd_kernels import squared_norms

        w = self.windows
        norms = np.empty(self.n_rows)
        squared_norms(w.codes, w.starts, w.is_reverse, w.length, self.root_beta**2, norms)
        return _shared_if_constant(norms)

    def _row_scale(self) -> NDArray[np.float64]:
        if not self._normalize:
            return np.broadcast_to(1.0, (self.n_rows,))
        safe = np.where(self._raw_norms > 0, self._raw_norms, 1.0)
        return _shared_if_constant(1.0 / np.sqrt(safe))

    def _folds(self, n: int) -> bool:
        return self.hash_bits == 0 and self.degree <= 11 and n >= self._fold_rows

    def squared_norms(self) -> NDArray[np.float64]:
        """Squared norm of every row, shape (n_rows,): 1 where rows are normalised, 0 if empty."""
        return self._raw_norms * self.scale**2

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Generate the features of the given windows."""
        from seqmtl.features._wd_kernels import fill_rows

        w = self.windows
        block = self._buffers.get(rows.size, self.row_size, dtype)
        fill_rows(
            w.codes, w.starts, w.is_reverse, w.length, rows, self.scale,
            self.root_beta, self.offsets, self.hash_bits, block,
        )  # fmt: skip
        return block

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any] | None:
        """Kernel matrix of the given windows, shape (m, m); None where hashed.

        Only the lower triangle is set.

        Windows are compared 64 positions at a time as bit planes, which costs about as much per
        pair as one look-up of a weight: far less than walking their features.
        """
        from seqmtl.features._wd_kernels import gram_tile, pack_bits

        if self.hash_bits:
            return None
        w, m = self.windows, rows.size
        planes = tuple(np.zeros((-(-w.length // 64), m), dtype=np.uint64) for _ in range(3))
        pack_bits(w.codes, w.starts, w.is_reverse, w.length, rows, *planes)
        words = planes[0].shape[0]
        scratch = (
            np.empty((words, _TILE), dtype=np.uint64),
            np.empty((words, _TILE), dtype=np.uint64),
            np.empty(_TILE),
        )
        out = np.empty((m, m), dtype=dtype)
        scale = np.ascontiguousarray(self.scale[rows])
        for first in range(0, m, _TILE):
            last = min(first + _TILE, m)
            gram_tile(planes, self.root_beta**2, scale, first, m, last, scratch, out)
        return out

    def dmer_weights(self, w: NDArray[Any], position: int, d: int) -> NDArray[np.float64]:
        """Return what each d-mer at a position adds to <w, phi(x)>, by its code, shape (4**d,).

        Before the window's scale, float64; w has shape (n_features,), hashed or not.
        """
        from seqmtl.features._wd_kernels import hashed_weights

        size = 4**d
        if self.hash_bits:
            part = np.empty(size)
            hashed_weights(w, position, d, self.hash_bits, part)
        else:
            first = int(self.offsets[d - 1]) + position * size
            part = w[first : first + size].astype(np.float64)
        return part * self.root_beta[d - 1]

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Inner product of window i with ``W[:, columns[i]]``, for i in rows (default: all).

        With exact indices and enough windows, the weights of all prefixes are folded into one
        table per position, so a window costs one look-up per position instead of D.
        """
        columns = np.asarray(columns)
        asked = np.arange(self.n_rows) if rows is None else rows
        total = np.zeros(self.n_rows)
        rest = []
        for column in np.unique(columns[asked]):
            chosen = asked[columns[asked] == column]
            if self._folds(chosen.size):
                self._score_folded(W, int(column), chosen, total)
            else:
                rest.append(chosen)
        if rest:
            total += score_by_blocks(self, np.sort(np.concatenate(rest)), W, columns)
        return total

    def _score_folded(
        self, W: NDArray[Any], column: int, rows: NDArray[np.int64], total: NDArray[np.float64]
    ) -> None:
        from seqmtl.features._wd_kernels import add_folded, fold_weights

        w = self.windows
        part = np.zeros(self.n_rows)
        for first, last, levels, table in self.tables(W.dtype):
            fold_weights(
                W, column, first, last, w.length, self.root_beta, self.offsets, levels, table
            )
            add_folded(
                w.codes, w.starts, w.is_reverse, w.length, rows, first, last, levels, table, part
            )
        total[rows] = part[rows] * self.scale[rows]

    def tables(
        self, dtype: Any, n_bytes: int = _FOLD_BYTES
    ) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[Any]]]:
        """Walk the positions in steps whose tables of all prefixes stay in cache.

        Yields first and last position (half-open), where the levels of 1-mers to D-mers begin in
        a row of the table, and the table itself, one row per position: all 0 at the start, then
        as it was left.
        """
        levels, width = level_offsets(self.degree)
        step = max(1, n_bytes // (width * np.dtype(dtype).itemsize))
        table = np.zeros((step, width), dtype=dtype)
        for first in range(0, self.windows.length, step):
            yield first, min(first + step, self.windows.length), levels, table

    def tree(self) -> WeightedDegreeTree | None:
        """Return the view with fewer look-ups; None where windows have N or features are hashed."""
        from seqmtl.features.weighted_degree_tree import WeightedDegreeTree

        clean = np.cumsum(self.root_beta**2)
        full = sum(clean[min(self.degree, left) - 1] for left in range(1, self.windows.length + 1))
        if self.hash_bits or not np.allclose(self._raw_norms, full, rtol=1e-9):
            return None
        return WeightedDegreeTree(self)

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times the features of window i to W, for i in rows.

        With exact indices and enough windows the sums are formed position by position in double
        precision, one addition per window and position.
        """
        rest = []
        for task in np.unique(tasks[rows]):
            chosen = rows[tasks[rows] == task]
            if self._folds(chosen.size):
                self._accumulate_folded(chosen, amount * self.scale, K[task], W)
            else:
                rest.append(chosen)
        if rest:
            add_by_blocks(self, np.concatenate(rest), amount, tasks, K, W)

    def virtual_gram(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        n_tasks: int,
    ) -> NDArray[np.float64]:
        """Return V'V; see :class:`seqmtl.blocks.Rows`.

        With exact indices V is never formed: few windows are compared pair by pair, many are
        gathered position by position.
        """
        from seqmtl.features.weighted_degree_energies import folded_virtual_gram

        if self.hash_bits:
            return virtual_gram(self, rows, amount, tasks, n_tasks)
        if rows.size <= _PAIRS or self.degree > 11:
            A = np.zeros((rows.size, n_tasks))
            A[np.arange(rows.size), tasks[rows]] = amount[rows]
            return np.asarray(A.T @ gram_matrix(self, rows) @ A)
        return folded_virtual_gram(self, rows, amount * self.scale, tasks, n_tasks)

    def _accumulate_folded(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        coupling: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        from seqmtl.features._wd_kernels import scatter_codes, unfold_weights

        w = self.windows
        for first, last, levels, table in self.tables(np.float64):
            scatter_codes(
                w.codes, w.starts, w.is_reverse, w.length, rows, amount, first, last, levels, table
            )
            unfold_weights(
                table, coupling, first, last, w.length, self.root_beta, self.offsets, levels, W
            )


def level_offsets(degree: int) -> tuple[NDArray[np.int64], int]:
    """Return where tables of 1-mers to degree-mers begin when laid end to end, and their size."""
    sizes = 4 ** np.arange(1, degree + 1, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]), int(sizes.sum())


def _shared_if_constant(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keep one number where all are equal, so clean windows cost no memory for it."""
    if values.size and values.min() == values.max():
        return np.broadcast_to(values[0], values.shape)
    return values
