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
        """Return the sites by start, and then strand, plus before minus."""
        return self.take(np.lexsort((self.is_reverse, self.starts)))

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


def words_at(
    codes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    is_reverse: NDArray[np.bool_],
    words: Sequence[str],
) -> NDArray[np.int8]:
    """Return which of several words is at each site, -1 if none.

    Parameters
    ----------
    codes : ndarray of uint8
        Encoded bases of the forward strand.
    starts : ndarray of int64, shape (n,)
        First base of each site on the forward strand.
    is_reverse : ndarray of bool, shape (n,)
        Whether a site is on the minus strand.
    words : sequence of str
        Words of one length, in reading direction.

    Returns
    -------
    ndarray of int8, shape (n,)
    """
    numbers = np.full(starts.size, -1, dtype=np.int8)
    if not words:
        return numbers
    letters = codes[starts[:, np.newaxis] + np.arange(len(words[0]))]
    other = np.where(letters < 4, 3 - letters, letters)[:, ::-1]
    letters = np.where(is_reverse[:, np.newaxis], other, letters)
    for number, word in enumerate(words):
        numbers[(letters == encode(word)).all(axis=1)] = number
    return numbers


def clean_windows(codes: NDArray[np.uint8], length: int) -> NDArray[np.bool_]:
    """Return for each window of `length` whether it contains only A, C, G, T."""
    n_other = np.concatenate([[0], np.cumsum(codes == OTHER, dtype=np.int32)])
    is_clean: NDArray[np.bool_] = n_other[length:] == n_other[:-length]
    return is_clean
