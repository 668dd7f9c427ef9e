"""Coding content as a log ratio of Markov chains: of coding sequence, and of introns.

An organism with few exons is drawn to those of its relatives. (Periodic Markov chains, as in
finders of genes: Borodovsky and McIninch, 1993; by classes of G and C: Stanke and Waack, 2003; over
unknown frames: Dempster, Laird and Rubin, 1977.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.splicing.coding_words import WORD, Words

_ROUNDS = 10
# observations that a table counts as, for each context: of shorter words; of all organisms for one
# class; of all in its class for the mean of relatives; of this for the own
_OF_SHORTER, _OF_ALL, _OF_CLASS, _OF_RELATIVES = 30.0, 1000.0, 100.0, 100.0


def log_ratios(
    exons: Words, introns: Words, similarity: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log ratios of organisms, by expectation maximization over frames of exons.

    Parameters
    ----------
    exons, introns : Words
        Those of T organisms.
    similarity : ndarray of float64, shape (T, T)
        Of the organisms; its square is how much one counts for another.

    Returns
    -------
    ndarray of float64, shape (T, 3, 3, 1024)
        By class of G and C: log ratio of the probability of the last letter of a 5-mer after the
        others, at positions 0 to 2 of a codon, to that in introns.
    """
    T = len(similarity)
    weights = np.maximum(similarity, 0.0) ** 2 * (1 - np.eye(T))
    every = np.ones((introns.tables.size, 1))
    noncoding = introns.counts(every, T).sum(axis=2, keepdims=True)
    background = np.log(_shrunk(noncoding, weights))
    is_open = exons.is_open()
    p = is_open / np.maximum(is_open.sum(axis=1, keepdims=True), 1)
    for _ in range(_ROUNDS):
        logs = np.log(_shrunk(exons.counts(p, T), weights)) - background
        p = exons.frames(logs)
    return logs


def _shrunk(
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the probabilities of the last letters of words, shape (T, 3, n, 4**5), by counts.

    Those of an organism are drawn to the mean of its relatives in the class, and these to all.
    """
    every = _mixed(counts.sum(axis=0), _from_shorter(counts.sum(axis=(0, 1))), _OF_ALL)
    of_relatives = _mixed(np.tensordot(weights, counts, 1), every, _OF_CLASS)
    return _mixed(counts, of_relatives, _OF_RELATIVES)


def _mixed(
    counts: NDArray[np.float64], prior: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return probabilities by counts, and by a prior of so many observations for each context."""
    return _normalized(counts + weight * prior)


def _normalized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values divided by the sums over the last letter of words."""
    by_context = values.reshape(*values.shape[:-1], -1, 4)
    return (by_context / by_context.sum(axis=-1, keepdims=True)).reshape(values.shape)


def _from_shorter(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the last letters of words, from shorter words up."""
    before = counts.shape[:-1]
    p = np.full((*before, 4), 0.25)
    for k in range(1, WORD + 1):
        of_length = counts.reshape(*before, -1, 4**k).sum(axis=-2)
        p = _mixed(of_length, np.tile(p, 4**k // p.shape[-1]), _OF_SHORTER)
    return p
