"""Contributions of the bases of a window to its score, and effects of substitutions.

The score is a sum over the d-mers of the window, f(x) = b + sum_{l,d} w_d[l, x[l:l+d]], except
those with a letter other than A, C, G, T. Terms of k-mers anywhere have the factor root(L / n) in a
window of L bases with n of these letters. The term of a d-mer is divided equally among its d
letters, so that the contributions of the bases sum to f(x) - b; that of a gapped k-mer among all
letters of its stretch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl.features.kmer_counts import scale_of
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.position_weights import weights_by_position
from seqmtl.sequences import Windows


def contributions(model: MultiTaskModel, windows: Windows, organism: str) -> NDArray[np.float64]:
    """Return the contribution of every base to the score of its window.

    Parameters
    ----------
    model : MultiTaskModel
        Model of DNA windows.
    windows : Windows
        n windows of L bases: the model's length, or any if its features need no positions.
    organism : str
        Task used to score all of them, or a relative without data.

    Returns
    -------
    ndarray of float64, shape (n, L)
        In reading direction. Rows sum to the score minus the intercept; letters other than A, C,
        G, T contribute 0.

    Raises
    ------
    ValueError
        If the windows have another length.
    SeqmtlError
        If the inputs of the model are not DNA windows.
    MemoryLimitError
        If its weights by position do not fit into memory.
    """
    _check_length(model, windows)
    total = np.zeros(windows.shape)
    for anywhere in _parts(model):
        total += _terms(model, windows, organism, anywhere)[0]
    return total


def mutagenesis(model: MultiTaskModel, windows: Windows, organism: str) -> NDArray[np.float64]:
    """Return the change of the score for every substitution at each position.

    In double precision, from the d-mers that contain the letter, as no others change.

    Parameters, Raises
        See :func:`contributions`.

    Returns
    -------
    ndarray of float64, shape (n, L, 4)
        f(x with A, C, G or T at the position) - f(x); 0 for the letter of x itself.
    """
    _check_length(model, windows)
    is_other = windows.matrix() > 3
    total = np.zeros((*windows.shape, 4))
    for anywhere in _parts(model):
        parts, changes = _terms(model, windows, organism, anywhere)
        if anywhere:  # a letter in place of another one is one more to divide by
            n_letters = (~is_other).sum(axis=1, keepdims=True)
            factor = np.sqrt(n_letters / (n_letters + is_other))[..., np.newaxis]
            changes = factor * changes + (factor - 1.0) * parts.sum(axis=1)[:, None, None]
        total += changes
    return total


def _parts(model: MultiTaskModel) -> list[bool]:
    """Return whether features are anywhere, as a list: of some, of the others, or both."""
    return sorted({view.is_position_free for view in model.features.flat_views()})


def _terms(
    model: MultiTaskModel, windows: Windows, organism: str, anywhere: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the contributions of bases, and changes by substitutions, of the terms of a part.

    The terms of windows with other letters have the factor of the windows.
    """
    codes = windows.matrix().astype(np.int64)
    digits = codes & 3
    is_other = codes > 3
    parts, changes = np.zeros(windows.shape), np.zeros((*windows.shape, 4))
    for columns, w, number, n_other in _dmers(model, windows, organism, anywhere):
        n_bases = columns.stop - columns.start
        powers = 4 ** np.arange(n_bases)[::-1]
        before = np.where(n_other == 0, w[number], 0.0)
        parts[:, columns] += before[:, np.newaxis] / n_bases
        without = number[:, np.newaxis] - digits[:, columns] * powers
        after = w[without[..., np.newaxis] + np.arange(4) * powers[:, np.newaxis]]
        after[n_other[:, np.newaxis] > is_other[:, columns]] = 0.0
        changes[:, columns] += after - before[:, np.newaxis, np.newaxis]
    if anywhere:
        factor = scale_of(windows) * windows.length**0.5
        parts *= factor[:, np.newaxis]
        changes *= factor[:, np.newaxis, np.newaxis]
    return parts, changes


def _dmers(
    model: MultiTaskModel, windows: Windows, organism: str, anywhere: bool
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield positions of a d-mer, weights of all d-mers there, and those of the n windows.

    These are base-4 numbers, shape (n,), with N (any letter other than A, C, G, T) read as A, and
    counts of N.
    """
    codes = windows.matrix().astype(np.int64)
    digits = codes & 3
    is_other = codes > 3
    weights = weights_by_position(model, [organism], length=windows.length, anywhere=anywhere)
    for first, levels in enumerate(weights):
        number, n_other = np.zeros((2, len(windows)), dtype=np.int64)
        for last, w in zip(range(first, windows.length), levels, strict=False):
            number = 4 * number + digits[:, last]
            n_other = n_other + is_other[:, last]
            yield slice(first, last + 1), w, number, n_other


def _check_length(model: MultiTaskModel, windows: Windows) -> None:
    if windows.length != model.length and not model.features.is_position_free:
        raise ValueError(
            f"windows must have {model.length} bases as in training, got {windows.length}; "
            "cut them with Windows.center"
        )
