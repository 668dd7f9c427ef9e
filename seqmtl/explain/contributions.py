"""Contributions of the bases of a window to its score, and effects of substitutions.

The score is a sum over the d-mers of the window, f(x) = b + sum_{l,d} w_d[l, x[l:l+d]], except
those with a letter other than A, C, G, T. The term of a d-mer is divided equally among its d
letters, so that the contributions of the bases sum to f(x) - b.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.model import MultiTaskModel
from seqmtl.sequences import Windows


def contributions(
    model: MultiTaskModel, windows: Windows, organism: str, *, from_relatives: bool = False
) -> NDArray[np.float64]:
    """Return the contribution of every base to the score of its window.

    Parameters
    ----------
    model : MultiTaskModel
        Model of DNA windows.
    windows : Windows
        n windows of the model's length L.
    organism : str
        Task used to score all of them.
    from_relatives : bool, default=False
        See :meth:`MultiTaskModel.decision_function`.

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
    weights = model.position_weights(organism, from_relatives=from_relatives)
    for d, (w, dmers) in enumerate(zip(weights, _dmers(windows), strict=False), 1):
        n_starts = dmers.number.shape[1]
        part = np.where(dmers.n_other == 0, w[np.arange(n_starts), dmers.number], 0.0) / d
        for i in range(d):
            total[:, i : i + n_starts] += part
    return total


def mutagenesis(
    model: MultiTaskModel, windows: Windows, organism: str, *, from_relatives: bool = False
) -> NDArray[np.float64]:
    """Return the change of the score for every substitution at each position.

    Exact, in double precision, as only the d-mers that contain the letter change.

    Parameters, Raises
        See :func:`contributions`.

    Returns
    -------
    ndarray of float64, shape (n, L, 4)
        f(x with A, C, G or T at the position) - f(x); 0 for the letter of x itself.
    """
    _check_length(model, windows)
    total = np.zeros((*windows.shape, 4))
    codes = windows.matrix().astype(np.int64)
    digits, is_other = codes & 3, codes > 3
    weights = model.position_weights(organism, from_relatives=from_relatives)
    for d, (w, dmers) in enumerate(zip(weights, _dmers(windows), strict=False), 1):
        n_starts = dmers.number.shape[1]
        starts = np.arange(n_starts)
        before = np.where(dmers.n_other == 0, w[starts, dmers.number], 0.0)
        for i in range(d):
            place = slice(i, i + n_starts)
            worth = 4 ** (d - 1 - i)
            without = dmers.number - digits[:, place] * worth
            after = w[starts[:, None], without[..., None] + np.arange(4) * worth]
            after[dmers.n_other > is_other[:, place]] = 0.0
            total[:, place] += after - before[..., None]
    return total


class _Dmers(NamedTuple):
    """The d-mers of n windows, shapes (n, L - d + 1): base-4 numbers, N read as A, and counts of N.

    N stands for any letter other than A, C, G, T.
    """

    number: NDArray[np.int64]
    n_other: NDArray[np.int64]


def _dmers(windows: Windows) -> Iterator[_Dmers]:
    """Yield the 1-mers, 2-mers, ... of windows."""
    codes = windows.matrix().astype(np.int64)
    digits, is_other = codes & 3, (codes > 3).astype(np.int64)
    found = _Dmers(digits, is_other)
    for d in range(1, windows.length + 1):
        yield found
        found = _Dmers(
            4 * found.number[:, :-1] + digits[:, d:], found.n_other[:, :-1] + is_other[:, d:]
        )


def _check_length(model: MultiTaskModel, windows: Windows) -> None:
    if windows.length != model.length:
        raise ValueError(
            f"windows must have {model.length} bases as in training, got {windows.length}; "
            "cut them with Windows.center"
        )
