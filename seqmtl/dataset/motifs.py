"""Words at sites as small integers, at single positions and along a genome."""

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
    """The words that sites of a signal may have.

    For a site of a single base the word is the dinucleotide of the previous base and itself, so
    that decoys can be drawn at the same dinucleotides.

    Parameters
    ----------
    length : int
        Length of the site in bases.
    words : tuple of str
        Allowed bases in reading direction; empty for any.
    """

    length: int
    words: tuple[str, ...]

    @property
    def lead(self) -> int:
        """Number of bases of the word before the site."""
        return int(self.length == 1)

    @property
    def width(self) -> int:
        """Length of a word in bases."""
        return self.length + self.lead

    @property
    def names(self) -> tuple[str, ...]:
        """The words in the order of their indices."""
        return self.words or tuple("".join(w) for w in product("ACGT", repeat=self.width))

    def numbers(self, is_reverse: bool) -> NDArray[np.int8]:
        """Return the index of the word for each code of :func:`word_codes`, or -1."""
        table = np.full(_BASE**self.width, -1, dtype=np.int8)
        for number, word in enumerate(self.names):
            forward = "".join(_COMPLEMENT[c] for c in reversed(word)) if is_reverse else word
            table[sum("ACGT".index(c) * _BASE**i for i, c in enumerate(reversed(forward)))] = number
        return table

    def first(self, starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the first base of the words of sites on the forward strand."""
        return starts - np.where(is_reverse, 0, self.lead)

    def at(
        self, codes: NDArray[np.uint8], starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        """Return the index of the word at each site, or -1 if it has none.

        Parameters
        ----------
        codes : ndarray of uint8
            Encoded bases.
        starts : ndarray of int64, shape (n,)
            0-based first base of each site on the forward strand.
        is_reverse : ndarray of bool, shape (n,)
            Whether a site is on the minus strand.
        """
        first = self.first(starts, is_reverse)
        value = np.zeros(first.size, dtype=np.int64)
        for place in range(self.width):
            value = value * _BASE + codes[first + place]
        return np.where(is_reverse, self.numbers(True)[value], self.numbers(False)[value])


def word_codes(codes: NDArray[np.uint8], width: int, n: int) -> NDArray[np.uint8]:
    """Return the codes of `n` words that start at consecutive bases, as one number each."""
    value = codes[:n].copy()
    for place in range(1, width):
        value *= np.uint8(_BASE)
        value += codes[place : place + n]
    return value
