"""Sites on either strand of a sequence, with named columns; motifs, and clean windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER, encode, reverse_complement


@dataclass(frozen=True, eq=False)
class Sites:
    """Sites on a contig, or in the buffer of a genome.

    Attributes
    ----------
    starts : ndarray of int64, shape (n,)
        0-based first base of each on the forward strand.
    is_reverse : ndarray of bool, shape (n,)
        Whether a site is on the minus strand.
    columns : mapping of str to ndarray, shapes (n, ...)
        Further properties of each site, such as its score: ``sites["scores"]``.
    """

    starts: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.starts.size

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def take(self, rows: slice | NDArray[Any]) -> Sites:
        """Return some of the sites: a slice, those of a mask, or of indices."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Sites(self.starts[rows], self.is_reverse[rows], columns)

    def adding(self, **columns: NDArray[Any]) -> Sites:
        """Return the sites with further columns, or others of the same names."""
        return replace(self, columns={**self.columns, **columns})

    def on_strand(self, is_reverse: bool) -> Sites:
        """Return the sites of one strand, if those of plus come before those of minus."""
        first = int(np.searchsorted(self.is_reverse, True))
        return self.take(slice(first, None) if is_reverse else slice(first))

    def in_order(self) -> Sites:
        """Return the sites by start, if those of plus come before those of minus."""
        return self.take(np.argsort(self.starts, kind="stable"))

    @staticmethod
    def join(parts: Iterable[Sites]) -> Sites:
        """Return the sites of several parts with the same columns; there must be one."""
        all_parts = list(parts)
        if len(all_parts) == 1:
            return all_parts[0]
        return Sites(
            np.concatenate([part.starts for part in all_parts]),
            np.concatenate([part.is_reverse for part in all_parts]),
            {
                name: np.concatenate([part[name] for part in all_parts])
                for name in all_parts[0].columns
            },
        )


def window_starts(
    begins: NDArray[np.int64], ends: NDArray[np.int64], is_reverse: NDArray[np.bool_], length: int
) -> NDArray[np.int64]:
    """Return the first base, on the forward strand, of windows around sites.

    With c the middle of a site and L the window length, the window of a plus-strand site starts at
    ``floor(c) - L // 2``, and that of a minus-strand site ends at ``ceil(c) + L // 2``, its mirror
    image. In reading direction a site of one base is at window offset ``L // 2``, one of two bases
    at ``L // 2 - 1`` and ``L // 2``.

    Parameters
    ----------
    begins, ends : ndarray of int64, shape (n,)
        Intervals of the sites, 0-based half-open.
    is_reverse : ndarray of bool, shape (n,)
        Whether a site is on the minus strand.
    length : int
        Window length L in bases.

    Returns
    -------
    ndarray of int64, shape (n,)
        May be below 0.
    """
    total = begins + ends
    half = length // 2
    return np.where(is_reverse, -(-total // 2) + half - length, total // 2 - half)


def find_motifs(
    codes: NDArray[np.uint8], motifs: Sequence[str], is_reverse: bool
) -> NDArray[np.bool_]:
    """Return at which bases one of several motifs begins.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded bases of the forward strand.
    motifs : sequence of str
        Letters of the same length k, in reading direction.
    is_reverse : bool
        Whether they are searched on the minus strand.

    Returns
    -------
    ndarray of bool, shape (max(0, n - k + 1),)
        By the first base on the forward strand.
    """
    n = max(0, codes.size - len(motifs[0]) + 1)
    is_motif = np.zeros(n, dtype=bool)
    for motif in motifs:
        pattern = reverse_complement(encode(motif)) if is_reverse else encode(motif)
        matches = np.ones(n, dtype=bool)
        for k, code in enumerate(pattern):
            matches &= codes[k : n + k] == code
        is_motif |= matches
    return is_motif


def clean_windows(codes: NDArray[np.uint8], length: int) -> NDArray[np.bool_]:
    """Return for each window of `length` whether it contains only A, C, G, T."""
    n_other = np.concatenate([[0], np.cumsum(codes == OTHER, dtype=np.int32)])
    is_clean: NDArray[np.bool_] = n_other[length:] == n_other[:-length]
    return is_clean
