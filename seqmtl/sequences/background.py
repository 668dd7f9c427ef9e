"""Draw intervals of a genome that have the lengths and the composition of others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.genome import Genome
from seqmtl.sequences.intervals import overlap

#: Width of a bin of the share of G and C, and the highest share of N; plain choices.
GC_BIN = 0.02
MAX_N = 0.1
_MAX_TRIES = 10_000  # positions that are tried for an interval
_BASES = 1 << 22  # bases that are counted at a time, or those of one interval


def draw_background(
    genome: Genome,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    avoided: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw an interval for each interval, of its length and on its contig.

    Its share of G and C among A, C, G and T is in the same bin of 2 %. At most 10 % of its bases
    are N, and it overlaps none of those to avoid. Drawn intervals may overlap each other.

    Parameters
    ----------
    genome : Genome
        Genome.
    starts, lengths : ndarray of int64, shape (n,)
        Intervals inside contigs: positions in the buffer of the genome, 0-based, and bases.
    avoided : ndarray of int64, shape (k, 2)
        Intervals of the buffer to avoid, disjoint and increasing, such as the given ones.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of int64, shape (n,)
        Starts in the buffer; -1 if 10,000 positions were tried in vain.
    """
    contigs = genome.contigs.contig_of(starts)
    lows = genome.starts[contigs]
    highs = lows + genome.lengths[contigs] - lengths  # the last possible start
    n_gc, n_letters = _counts(genome.codes, starts, lengths)
    bins = _bins(n_gc, n_letters)
    drawn = np.full(starts.size, -1, dtype=np.int64)
    pending, n_tries = np.arange(starts.size), 0
    while pending.size and n_tries < _MAX_TRIES:
        n = min(max(1, _BASES // int(lengths[pending].sum())), _MAX_TRIES - n_tries)
        rows = np.repeat(pending, n)
        tried = rng.integers(lows[rows], highs[rows] + 1)
        for part in _parts(lengths[rows]):
            begin, size = tried[part], lengths[rows[part]]
            n_gc, n_letters = _counts(genome.codes, begin, size)
            fits = _bins(n_gc, n_letters) == bins[rows[part]]
            fits &= (n_letters >= (1.0 - MAX_N) * size) & ~overlap(begin, size, avoided)
            hits = part[fits][::-1]  # of several, the first
            drawn[rows[hits]] = tried[hits]
        pending, n_tries = pending[drawn[pending] < 0], n_tries + n
    return drawn


def _parts(lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return runs of rows of about as many bases as are counted at a time."""
    numbers = np.cumsum(lengths) // _BASES
    return np.split(np.arange(lengths.size), np.flatnonzero(np.diff(numbers)) + 1)


def _counts(
    codes: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of G and C, and of A, C, G and T, of intervals of one base or more."""
    n_gc, n_letters = np.zeros(starts.size, np.int64), np.zeros(starts.size, np.int64)
    for part in _parts(lengths):
        begins = np.cumsum(lengths[part]) - lengths[part]
        at = np.repeat(starts[part] - begins, lengths[part]) + np.arange(lengths[part].sum())
        letters = codes[at]
        is_gc = (letters == 1) | (letters == 2)
        n_gc[part] = np.add.reduceat(is_gc, begins, dtype=np.int64)
        n_letters[part] = np.add.reduceat(letters != OTHER, begins, dtype=np.int64)
    return n_gc, n_letters


def _bins(n_gc: NDArray[np.int64], n_letters: NDArray[np.int64]) -> NDArray[np.int64]:
    return (n_gc / np.maximum(n_letters, 1) / GC_BIN + 1e-9).astype(np.int64)
