"""Spectrum features: how often every k-mer occurs in a region, wherever it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.blocks import RowBlock
from seqmtl.features._base import (
    BlockBuffers,
    FeatureDefinition,
    add_by_blocks,
    gram_by_features,
    score_by_blocks,
    virtual_gram,
)
from seqmtl.sequences import Windows

MAX_K = 12


class Spectrum(FeatureDefinition):
    """Counts of the k-mers of a region of the window.

    Parameters
    ----------
    k : int, default=5
        Length of the k-mers, 1 to 12.
    begin, end : int, optional
        Region of the window in reading direction, 0-based half-open. Default: all of it.
    normalize : bool, default=True
        Divide every row by its norm, so that k(x, x) = 1.

    Notes
    -----
    The index of a k-mer is its base-4 number, A, C, G, T = 0 to 3, first letter most significant.
    A k-mer that covers another letter is not counted. Source: Leslie, Eskin, Noble (2002).
    """

    kind = "spectrum"

    def __init__(
        self, k: int = 5, begin: int | None = None, end: int | None = None, normalize: bool = True
    ) -> None:
        self.k = k
        self.begin = begin
        self.end = end
        self.normalize = normalize

    def bind(self, data: Windows) -> SpectrumRows:
        """Attach the map to windows.

        Raises
        ------
        ValueError
            If k or the region is out of range.
        TypeError
            If `data` is not a :class:`~seqmtl.sequences.Windows`.
        """
        if not isinstance(data, Windows):
            raise TypeError(
                f"Spectrum needs Windows of DNA, got {type(data).__name__}; "
                "read them with read_windows or Windows.from_strings"
            )
        self._check()
        begin = 0 if self.begin is None else self.begin
        end = data.length if self.end is None else self.end
        if begin < 0 or end > data.length or end - begin < self.k:
            raise ValueError(
                f"the region must lie in the window 0..{data.length} and hold a k-mer of "
                f"{self.k} bases, got {begin}..{end}"
            )
        return SpectrumRows(self, data, begin, end)

    def _check(self) -> None:
        if not (isinstance(self.k, (int, np.integer)) and 1 <= self.k <= MAX_K):
            raise ValueError(f"k must be an integer from 1 to {MAX_K}, got {self.k}")

    def n_features(self, length: int) -> int:
        """Return the number of features of windows of `length` bases."""
        return int(4**self.k)

    def to_dict(self, length: int) -> dict[str, Any]:
        """Describe the map as JSON values (model files)."""
        return {"kind": self.kind, **self.get_params()}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> Spectrum:
        """Rebuild the map from :meth:`to_dict`."""
        definition = cls(**{name: value for name, value in description.items() if name != "kind"})
        definition._check()
        return definition


class SpectrumRows:
    """Spectrum features of given windows; see :class:`seqmtl.blocks.Rows`."""

    scoring_cost = 0.8

    def __init__(self, definition: Spectrum, windows: Windows, begin: int, end: int) -> None:
        self.windows = windows
        self.n_rows = len(windows)
        self.n_features = 4**definition.k
        self.row_size = max(min(end - begin - definition.k + 1, self.n_features), 1)
        self._k = int(definition.k)
        self._region = (windows.length, begin, end)
        self._normalize = bool(definition.normalize)
        self._counts = np.zeros(self.n_features, dtype=np.int32)
        self._buffers = BlockBuffers()

    def block(self, rows: NDArray[np.int64], dtype: Any) -> RowBlock:
        """Generate the features of the given windows."""
        from seqmtl.features._spectrum_kernels import count_kmers

        w = self.windows
        block = self._buffers.get(rows.size, self.row_size, dtype)
        count_kmers(
            w.codes, w.starts, w.is_reverse, rows, self._region, self._k, self._counts,
            self._normalize, block,
        )  # fmt: skip
        return block

    def squared_norms(self) -> NDArray[np.float64]:
        """Squared norm of every row, shape (n_rows,)."""
        norms = np.empty(self.n_rows)
        for first in range(0, self.n_rows, 1024):
            rows = np.arange(first, min(first + 1024, self.n_rows))
            indptr, _, values = self.block(rows, np.float64)
            sums = np.concatenate([[0.0], np.cumsum(values[: indptr[-1]] ** 2)])
            norms[rows] = sums[indptr[1:]] - sums[indptr[:-1]]
        return norms

    def scores(
        self, W: NDArray[Any], columns: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Inner product of row i with ``W[:, columns[i]]``, for i in rows (default: all)."""
        return score_by_blocks(self, np.arange(self.n_rows) if rows is None else rows, W, columns)

    def accumulate(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        K: NDArray[np.float64],
        W: NDArray[Any],
    ) -> None:
        """Add ``amount[i] K[tasks[i], :]`` times row i to W, for i in rows."""
        add_by_blocks(self, rows, amount, tasks, K, W)

    def gram(self, rows: NDArray[np.int64], dtype: Any) -> NDArray[Any]:
        """Kernel matrix of the given windows, shape (m, m); only the lower triangle is set."""
        return gram_by_features(self, rows, dtype)

    def virtual_gram(
        self,
        rows: NDArray[np.int64],
        amount: NDArray[np.float64],
        tasks: NDArray[Any],
        n_tasks: int,
    ) -> NDArray[np.float64]:
        """Return V'V; see :class:`seqmtl.blocks.Rows`."""
        return virtual_gram(self, rows, amount, tasks, n_tasks)
