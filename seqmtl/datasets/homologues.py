"""True sites of different splits whose sequences are related: paralogues and orthologues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.datasets.homologue_loops import mark_related

HOMOLOGUE_IN_TEST = "site of train with a homologue in valid or test"

_SEED = 8  # k of the k-mer that two windows must share at the same position
_IDENTITY = 0.75  # of equal bases in related sequences
_MAX_FALSE_SHARE = 1e-3  # of unrelated windows with a false homologue
_MAX_SITES = 2000  # of the test split that are compared, per organism
_LETTERS = 5
#: Number of different letters by their set, a bit each; 0 with letters other than A, C, G, T.
_N_LETTERS = np.array([letters.bit_count() if letters < 16 else 0 for letters in range(32)])


def count_homologues(
    sites: Mapping[str, tuple[NDArray[np.uint8], NDArray[np.uint8]]],
) -> dict[str, dict[str, int]]:
    """Count the true sites of test with a homologue in train, of all organisms.

    Parameters
    ----------
    sites : mapping of str to (ndarray of uint8, ndarray of uint8)
        Codes of the true sites of train and of test by organism, shapes (n, length) and (m,
        length). At most 2,000 sites of test are compared, drawn at random.

    Returns
    -------
    dict
        Number of sites compared, and of those with a homologue, by organism.
    """
    drawn = {
        name: (train, test[np.sort(np.random.default_rng(0).permutation(len(test))[:_MAX_SITES])])
        for name, (train, test) in sites.items()
    }
    train, test = (
        (np.concatenate(parts), np.repeat(np.arange(len(parts)), [*map(len, parts)]))
        for parts in zip(*drawn.values(), strict=True)
    )
    has_homologue_in_train = has_homologue(*test, *train)
    n = len(drawn)
    counts = {
        "test_sites_compared": np.bincount(test[1], minlength=n),
        "test_sites_with_homologue_in_train": np.bincount(
            test[1][has_homologue_in_train], minlength=n
        ),
    }
    return {name: dict(zip(drawn, row.tolist(), strict=True)) for name, row in counts.items()}


def has_homologue(
    windows: NDArray[np.uint8],
    organisms: NDArray[np.integer[Any]],
    references: NDArray[np.uint8],
    reference_organisms: NDArray[np.integer[Any]],
) -> NDArray[np.bool_]:
    """Return which windows are related to any of the references.

    Windows are aligned at their sites, so related ones have equal bases at equal positions. Two
    are related if in the left or the right half the likelihood ratio of "75 % of the bases are
    equal by descent" against "the reference is random" exceeds ``2 n / 0.001`` for n references.
    The random reference has the frequencies of bases, given the base before, of either window's
    organism at the same position, whichever is larger: this way, neither letters that all introns
    have nor runs of one letter count as homology. By Markov's inequality, unrelated windows exceed
    the bound by chance in at most one of a thousand windows. Only pairs with a common 8-mer at the
    same position, with at least three different letters, are compared, and for each k-mer at most
    64 of them.

    Parameters
    ----------
    windows, references : ndarray of uint8, shapes (m, length) and (n, length)
        Codes 0 to 3 for A, C, G, T, and 4 for other letters.
    organisms, reference_organisms : ndarray of int, shapes (m,) and (n,)
        Organism of each window, from 0.

    Returns
    -------
    ndarray of bool, shape (m,)
    """
    is_related = np.zeros(len(windows), dtype=np.bool_)
    if not len(windows) or not len(references):
        return is_related
    n_organisms = int(max(organisms.max(), reference_organisms.max())) + 1
    frequencies = np.maximum(
        _frequencies(windows, organisms, n_organisms)[:, np.newaxis],
        _frequencies(references, reference_organisms, n_organisms),
    )
    same = np.log2(_IDENTITY / frequencies)
    differs = np.log2((1 - _IDENTITY) / 3 / frequencies)
    min_score = float(np.log2(2 * len(references) / _MAX_FALSE_SHARE))
    for position in range(windows.shape[1] - _SEED + 1):
        rows, kmers = _kmers(windows, position)
        reference_rows, reference_kmers = _kmers(references, position)
        order = reference_rows[np.argsort(reference_kmers, kind="stable")]
        ends = np.cumsum(np.bincount(reference_kmers, minlength=4**_SEED))
        mark_related(
            windows,
            organisms,
            rows,
            kmers,
            references,
            reference_organisms,
            order,
            ends,
            same,
            differs,
            min_score,
            is_related,
        )
    return is_related


def _kmers(
    windows: NDArray[np.uint8], position: int
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Return the windows whose k-mer at a position is informative, and these k-mers."""
    codes = windows[:, position : position + _SEED]
    letters = np.bitwise_or.reduce(np.left_shift(1, codes, dtype=np.uint8), axis=1)
    rows = np.flatnonzero(_N_LETTERS[letters] >= 3)
    factors = (4 ** np.arange(_SEED)).astype(np.uint16)
    return rows, codes[rows].astype(np.uint16) @ factors


def _frequencies(
    windows: NDArray[np.uint8], organisms: NDArray[np.integer[Any]], n_organisms: int
) -> NDArray[np.float64]:
    """Return the frequency of each base by organism, position and base before.

    The shape is (n_kinds, length, 25): 5 times the code of the base before, plus that of the base.
    """
    length = windows.shape[1]
    counts = np.ones((n_organisms, length, _LETTERS, _LETTERS))
    for organism in range(n_organisms):
        codes = windows[organisms == organism]
        pairs = _LETTERS * codes[:, :-1] + codes[:, 1:]
        for position, column in enumerate(pairs.T, start=1):
            counts[organism, position] += np.bincount(column, minlength=_LETTERS**2).reshape(
                _LETTERS, _LETTERS
            )
    counts /= counts[..., :4].sum(axis=-1, keepdims=True)
    return counts.reshape(n_organisms, length, _LETTERS**2)
