"""Windows of equal sequence: find those to remove, and count those that splits share."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.datasets.homologues import count_homologues
from seqmtl.io.dataset import SPLITS
from seqmtl.sequences import Windows
from seqmtl.sequences.sites import Sites

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

    Decoys with the sequence of any true site are removed. If several splits contain the sequence
    of a remaining window, only the first of train, valid, test keeps it. Duplicates within a split
    stay.

    Parameters
    ----------
    prints : ndarray of uint64, shape (n, 2)
        Result of :func:`fingerprints`.
    labels : ndarray of int8, shape (n,)
        1 or -1.
    splits : ndarray of int8, shape (n,)
        0, 1, 2 for train, valid, test.
    """
    group = _groups(prints)
    has_site = np.zeros(int(group.max(initial=-1)) + 1, dtype=bool)
    has_site[group[labels > 0]] = True
    is_site_decoy = (labels < 0) & has_site[group]
    remaining = np.flatnonzero(~is_site_decoy)
    earliest = np.full(has_site.size, 127, dtype=np.int8)
    np.minimum.at(earliest, group[remaining], splits[remaining])
    repeats = remaining[splits[remaining] > earliest[group[remaining]]]
    return {
        DECOY_IS_SITE: np.flatnonzero(is_site_decoy),
        IN_TRAIN: repeats[earliest[group[repeats]] == 0],
        IN_VALID: repeats[earliest[group[repeats]] == 1],
    }


def measure_leakage(
    windows: Mapping[str, Sites], sequences: Mapping[str, NDArray[np.uint8]]
) -> dict[str, Any]:
    """Compare the sequences of the splits.

    Parameters
    ----------
    windows : mapping of str to Sites
        Windows by organism, with labels, splits and prints: their :func:`fingerprints`.
    sequences : mapping of str to ndarray of uint8, shapes (n_sites, length)
        Codes of the true sites' windows among them.

    Returns
    -------
    dict
        ``duplicates_between_splits`` and ``overlapping_between_splits``: number of windows of
        the later split with an equal sequence, or an overlapping window in the same genome, in
        the earlier one, by pairs such as "train-test"; ``with_both_labels``: windows whose
        sequence is that of both a true site and a decoy; ``duplicates_inside_splits``: windows
        that repeat an earlier one of the same split and label; ``test_sites_compared`` and
        ``test_sites_with_homologue_in_train``: true sites of test that were compared, and those of
        them related to a true site of train of any organism, by organism, see
        :func:`seqmtl.datasets.homologues.has_homologue`.
    """
    sites = {}
    overlapping = {f"{a}-{b}": 0 for a, b in combinations(SPLITS, 2)}
    for organism, of_organism in windows.items():
        starts, split, codes = of_organism.starts, of_organism["splits"], sequences[organism]
        split_of_site = split[of_organism["labels"] > 0]
        sites[organism] = codes[split_of_site == 0], codes[split_of_site == 2]
        for a, b in combinations(range(3), 2):
            overlapping[f"{SPLITS[a]}-{SPLITS[b]}"] += _count_overlapping(
                starts[split == b], starts[split == a], codes.shape[1]
            )
    keys, labels, split = (
        np.concatenate([of_organism[name] for of_organism in windows.values()])
        for name in ("prints", "labels", "splits")
    )
    group = _groups(keys)
    label = labels > 0
    counts = np.zeros((int(group.max(initial=-1)) + 1, 2, 3), dtype=np.int64)
    np.add.at(counts, (group, label.astype(np.int64), split), 1)
    in_split = counts.sum(axis=1)
    has_both = (counts.sum(axis=2) > 0).all(axis=1)
    return {
        "duplicates_between_splits": {
            f"{SPLITS[a]}-{SPLITS[b]}": int(in_split[in_split[:, a] > 0, b].sum())
            for a, b in combinations(range(3), 2)
        },
        "with_both_labels": int(counts[has_both].sum()),
        "overlapping_between_splits": overlapping,
        "duplicates_inside_splits": int(np.maximum(counts - 1, 0).sum()),
        **count_homologues(sites),
    }


def _groups(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return a group index per row, the same for equal rows."""
    order = np.lexsort(keys.T)
    is_new = np.append(True, (keys[order[1:]] != keys[order[:-1]]).any(axis=1))
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.cumsum(is_new) - 1
    return group


def _count_overlapping(
    starts: NDArray[np.int64], other_starts: NDArray[np.int64], length: int
) -> int:
    """Count the windows at `starts` that overlap a window at `other_starts`, on either strand."""
    ordered = np.sort(other_starts)
    first = np.searchsorted(ordered, starts - length, side="right")
    last = np.searchsorted(ordered, starts + length, side="left")
    return int((last > first).sum())
