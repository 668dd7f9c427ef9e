"""The letters at sites as small numbers, at single places and along a genome."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER

_BASE = OTHER + 1
_COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


@dataclass(frozen=True, eq=False)
class Motif:
    """The words that a signal's sites have.

    A site of a single base is told by the dinucleotide of the base before it and itself, so that
    decoys can be drawn at the same dinucleotides.

    Parameters
    ----------
    length : int
        Bases of the site.
    words : tuple of str
        What they may be in reading direction; empty for anything.
    """

    length: int
    words: tuple[str, ...]

    @property
    def lead(self) -> int:
        """Bases before the site that the word has."""
        return int(self.length == 1)

    @property
    def width(self) -> int:
        """Bases of a word."""
        return self.length + self.lead

    @property
    def names(self) -> tuple[str, ...]:
        """The words in the order of their numbers."""
        return self.words or tuple("".join(w) for w in product("ACGT", repeat=self.width))

    def numbers(self, is_reverse: bool) -> NDArray[np.int8]:
        """Return the number of the word for each code of :func:`word_codes`, -1 where none."""
        table = np.full(_BASE**self.width, -1, dtype=np.int8)
        for number, word in enumerate(self.names):
            forward = "".join(_COMPLEMENT[c] for c in reversed(word)) if is_reverse else word
            table[sum("ACGT".index(c) * _BASE**i for i, c in enumerate(reversed(forward)))] = number
        return table

    def first(self, starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return where the words of sites start on the forward strand."""
        return starts - np.where(is_reverse, 0, self.lead)

    def at(
        self, codes: NDArray[np.uint8], starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        """Return the number of the word at each site, -1 where it has none of them.

        Parameters
        ----------
        codes : ndarray of uint8
            Encoded bases.
        starts : ndarray of int64, shape (n,)
            0-based first base of each site on the forward strand.
        is_reverse : ndarray of bool, shape (n,)
            Sites on the minus strand.
        """
        first = self.first(starts, is_reverse)
        value = np.zeros(first.size, dtype=np.int64)
        for place in range(self.width):
            value = value * _BASE + codes[first + place]
        return np.where(is_reverse, self.numbers(True)[value], self.numbers(False)[value])


def word_codes(codes: NDArray[np.uint8], width: int, n: int) -> NDArray[np.uint8]:
    """Return the letters of `n` words that start one after the other as one number each."""
    value = codes[:n].copy()
    for place in range(1, width):
        value *= np.uint8(_BASE)
        value += codes[place : place + n]
    return value
