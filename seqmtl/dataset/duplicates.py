"""Remove windows of equal sequence from a dataset."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences import Windows

_BLOCK = 1 << 14

DECOY_IS_SITE = "decoy whose sequence is that of a true site"
IN_TRAIN = "window of valid or test whose sequence is in train"
IN_VALID = "window of test whose sequence is in valid"


def fingerprints(windows: Windows) -> NDArray[np.uint64]:
    """Return a 128-bit hash of every window's sequence, shape (n, 2).

    It consists of two multilinear hashes modulo 2^64 with fixed random factors. Among 10 million
    distinct windows the probability of a collision is below 1e-17.
    """
    factors = np.random.default_rng(20_260_101).integers(
        1 << 63, size=(windows.length, 2), dtype=np.uint64
    )
    factors = 2 * factors + np.uint64(1)
    result = np.empty((len(windows), 2), dtype=np.uint64)
    for begin in range(0, len(windows), _BLOCK):
        codes = windows[begin : begin + _BLOCK].matrix().astype(np.uint64)
        for column in (0, 1):
            result[begin : begin + _BLOCK, column] = (codes * factors[:, column]).sum(axis=1)
    return result


def find_duplicates(
    prints: NDArray[np.uint64], labels: NDArray[np.int8], splits: NDArray[np.int8]
) -> dict[str, NDArray[np.int64]]:
    """Return the rows to remove, by reason.

    Decoys with the sequence of a true site anywhere are removed. Of the remaining windows, a
    sequence is kept only in the first of train, valid, test that contains it. Duplicates within a
    split are kept.

    Parameters
    ----------
    prints : ndarray of uint64, shape (n, 2)
        Result of :func:`fingerprints`.
    labels : ndarray of int8, shape (n,)
        1 or -1.
    splits : ndarray of int8, shape (n,)
        0, 1, 2 for train, valid, test.
    """
    order = np.lexsort([prints[:, 1], prints[:, 0]])
    is_new = np.ones(order.size, dtype=bool)
    is_new[1:] = (prints[order[1:]] != prints[order[:-1]]).any(axis=1)
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.cumsum(is_new) - 1
    has_site = np.zeros(int(is_new.sum()), dtype=bool)
    has_site[group[labels > 0]] = True
    is_site_decoy = (labels < 0) & has_site[group]
    rest = np.flatnonzero(~is_site_decoy)
    earliest = np.full(has_site.size, 127, dtype=np.int8)
    np.minimum.at(earliest, group[rest], splits[rest])
    late = rest[splits[rest] > earliest[group[rest]]]
    return {
        DECOY_IS_SITE: np.flatnonzero(is_site_decoy),
        IN_TRAIN: late[earliest[group[late]] == 0],
        IN_VALID: late[earliest[group[late]] == 1],
    }
