"""Words of five bases in pieces of exons and introns, in the three reading frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER
from seqmtl.splicing.coding_loops import list_words

#: Bases of a word: a base, and those before it.
WORD = 5
#: Shape of a table: class of G and C, position in the codon, word.
CODING_SHAPE = (3, 3, 4**WORD)
#: Bases of a window.
WINDOW = 50
_STOPS = (48, 50, 56)  # TAA, TAG and TGA as numbers of base 4
_ANY_FRAME = 0.3  # probability of each reading frame of a piece, before its letters count
_MAX_WINDOWS = 40_000  # of an organism
_LEAST = 0.02  # weight of a window that counts


class Windows(NamedTuple):
    """Windows of 50 bases.

    Attributes
    ----------
    tables : ndarray of int64, shape (n,)
        As in :class:`Words`.
    words : ndarray of int64, shape (n, 50)
        Number of the word that ends at each base; -1 without one.
    is_open : ndarray of bool, shape (n, 3)
        Whether the frame of each, whose first base is at position 0 to 2 of a codon, has no stop
        codon.
    """

    tables: NDArray[np.int64]
    words: NDArray[np.int64]
    is_open: NDArray[np.bool_]

    def in_frame(
        self, frame: int, label: float, weights: NDArray[np.float64]
    ) -> tuple[NDArray[Any], ...]:
        """Return those that are open in a frame as examples, unless they have next to no weight.

        These are their organisms; the cells of their words in a table, and whether there is a
        word, both of shape (m, 50); their labels; and their weights.
        """
        rows = np.flatnonzero(self.is_open[:, frame] & (weights >= _LEAST))
        organisms, classes = np.divmod(self.tables[rows], CODING_SHAPE[0])
        words, positions = self.words[rows], (np.arange(WINDOW) + frame) % 3
        cells = (3 * classes[:, np.newaxis] + positions) * 4**WORD + np.maximum(words, 0)
        return organisms, cells, 1.0 * (words >= 0), np.full(rows.size, label), weights[rows]


class Words(NamedTuple):
    """Words of the pieces of all organisms.

    Attributes
    ----------
    tables : ndarray of int64, shape (n,)
        Number of the table of each of n pieces: 3 times its organism plus its class.
    starts, sizes : ndarray of int64, shape (n,)
        First base of each among the words, and its number of bases.
    words : ndarray of int64, shape (m,)
        Number of the word that ends at each base; -1 without one, and between pieces.
    is_stop : ndarray of bool, shape (m,)
        Whether TAA, TAG or TGA ends at each base.
    """

    tables: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    words: NDArray[np.int64]
    is_stop: NDArray[np.bool_]

    @classmethod
    def of(cls, samples: Sequence[tuple[list[NDArray[np.uint8]], list[int]]]) -> Words:
        """Return the words of the pieces of organisms, and of their classes."""
        pieces = [letters for of_sample, _ in samples for letters in of_sample]
        tables = [
            CODING_SHAPE[0] * t + number
            for t, (_, classes) in enumerate(samples)
            for number in classes
        ]
        sizes = np.array([letters.size for letters in pieces], dtype=np.int64)
        starts = np.cumsum(sizes + 1) - sizes - 1
        codes = np.full(int((sizes + 1).sum()), OTHER, dtype=np.uint8)
        for start, letters in zip(starts.tolist(), pieces, strict=True):
            codes[start : start + letters.size] = letters
        is_stop = np.isin(list_words(codes, 3), _STOPS)
        words = list_words(codes, WORD)
        return cls(np.array(tables, dtype=np.int64), starts, sizes, words, is_stop)

    def counts(self, p: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """Return the expected counts in the tables of n organisms, by probabilities of frames."""
        pieces, cells = self._cells()
        total = np.zeros(n * int(np.prod(CODING_SHAPE)))
        for of_frame, at in zip(p.T, cells, strict=False):
            total += np.bincount(at, of_frame[pieces], minlength=total.size)
        return total.reshape(n, *CODING_SHAPE)

    def frames(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the frames, shape (n, 3); what is left is for none."""
        pieces, cells = self._cells()
        n, flat = self.sizes.size, tables.ravel()
        sums = np.full((n, 4), np.log(1 - 3 * _ANY_FRAME))
        for frame, at in enumerate(cells):
            sums[:, frame] = np.bincount(pieces, flat[at], minlength=n) + np.log(_ANY_FRAME)
        sums[:, :3][~self.is_open()] = -np.inf
        p = np.exp(sums - sums.max(axis=1, keepdims=True))
        return np.asarray(p[:, :3] / p.sum(axis=1, keepdims=True))

    def is_open(self) -> NDArray[np.bool_]:
        """Return whether the frames of pieces have no stop codon, shape (n, 3)."""
        pieces, positions = self._places(np.flatnonzero(self.is_stop))
        is_open = np.ones((self.sizes.size, 3), dtype=np.bool_)
        is_open[pieces, (2 - positions) % 3] = False
        return is_open

    def windows(self, n: int) -> tuple[Windows, NDArray[np.int64], NDArray[np.int64]]:
        """Return evenly drawn windows of the pieces of n organisms, and the piece of each.

        The last are the bases of the piece before each.
        """
        in_piece = self.sizes // WINDOW
        pieces = np.repeat(np.arange(in_piece.size), in_piece)
        numbers = np.arange(pieces.size) - np.repeat(np.cumsum(in_piece) - in_piece, in_piece)
        organisms = self.tables[pieces] // CODING_SHAPE[0]
        in_all = np.bincount(organisms, minlength=n)
        steps = np.maximum(-(-in_all // _MAX_WINDOWS), 1)
        before = np.arange(pieces.size) - (np.cumsum(in_all) - in_all)[organisms]
        drawn = before % steps[organisms] == 0
        pieces, begins = pieces[drawn], WINDOW * numbers[drawn]
        places = (self.starts[pieces] + begins)[:, np.newaxis] + np.arange(WINDOW)
        is_stop = self.is_stop[places]
        is_stop[:, :2] = False  # these begin before the window
        is_open = np.stack([~is_stop[:, 2 - frame :: 3].any(axis=1) for frame in range(3)], axis=1)
        return Windows(self.tables[pieces], self.words[places], is_open), pieces, begins

    def _places(self, bases: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pieces of bases, and where they are there."""
        pieces = np.searchsorted(self.starts, bases, side="right") - 1
        return pieces, bases - self.starts[pieces]

    def _cells(self) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Return the piece of each word, and its cell in the tables, in each of three frames."""
        ends = np.flatnonzero(self.words >= 0)
        pieces, positions = self._places(ends)
        rows, words = 3 * self.tables[pieces], self.words[ends]
        return pieces, [(rows + (positions + k) % 3) * 4**WORD + words for k in range(3)]
