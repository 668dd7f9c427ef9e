"""What every base of a window adds to its score, and what every other base would change.

The score is linear in the features, f(x) = b + sum over the d-mers m of x of <w, phi_m(x)>. The
part of a d-mer is spread evenly over its d letters, so that the parts of the bases sum to f(x) - b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.explain.views import ScoreView, linear_score
from seqmtl.features.weighted_degree import WeightedDegreeRows
from seqmtl.models.model import MultiTaskModel
from seqmtl.sequences import Windows

_MUTANT_BYTES = 1 << 26  # of mutated windows at a time


def contributions(
    model: MultiTaskModel, windows: Windows, organism: str, *, from_relatives: bool = False
) -> NDArray[np.float64]:
    """Return what every base adds to the score of its window.

    Parameters
    ----------
    model : MultiTaskModel
        Model with weighted-degree and spectrum views, hashed or not.
    windows : Windows
        n windows of the model's length L.
    organism : str
        Task with which all of them are scored.
    from_relatives : bool, default=False
        See :meth:`MultiTaskModel.decision_function`.

    Returns
    -------
    ndarray of float64, shape (n, L)
        In reading direction. Rows sum to the score less the intercept; bases other than A, C, G,
        T have 0.

    Raises
    ------
    ValueError
        If the windows have another length.
    SeqmtlError
        If the model is not one of windows of DNA.
    """
    _check_length(model, windows)
    score = linear_score(model, [organism], windows, from_relatives=from_relatives)
    codes = windows.matrix()
    total = np.zeros(codes.shape)
    for view in score.views:
        if isinstance(view.rows, WeightedDegreeRows):
            _add_weighted_degree(view, codes, total)
        else:
            _add_spectrum(view, codes, total)
    return total


def mutagenesis(
    model: MultiTaskModel, windows: Windows, organism: str, *, from_relatives: bool = False
) -> NDArray[np.float64]:
    """Return how the score would change with another letter at each position.

    Every mutated window is scored, in double precision: the change is exact for all features,
    whatever it does to the norm of the window.

    Parameters, Raises
        See :func:`contributions`.

    Returns
    -------
    ndarray of float64, shape (n, L, 4)
        f(x with A, C, G or T there) - f(x); 0 for the letter that is there.
    """
    _check_length(model, windows)
    W, _ = model.weights([organism], from_relatives=from_relatives)
    w = np.asarray(W, dtype=np.float64)
    n, L = windows.shape
    found = np.empty((n, L, 4))
    step = max(1, _MUTANT_BYTES // (4 * L * L))
    places = np.arange(L)
    for first in range(0, n, step):
        codes = windows[first : first + step].matrix()
        m = codes.shape[0]
        mutants = np.broadcast_to(codes[:, None, None], (m, L, 4, L)).copy()
        mutants[:, places, :, places] = np.arange(4)
        flat = np.concatenate([codes.reshape(-1), mutants.reshape(-1)])
        every = Windows(flat, np.arange(flat.size // L) * L, L)
        scores = model.features.bind(every).scores(w, np.zeros(len(every), dtype=np.int64))
        found[first : first + m] = scores[m:].reshape(m, L, 4) - scores[:m, None, None]
    return found


def _check_length(model: MultiTaskModel, windows: Windows) -> None:
    if windows.length != model.length:
        raise ValueError(
            f"windows must have {model.length} bases as in training, got {windows.length}; "
            "cut them with Windows.center"
        )


def _add_weighted_degree(
    view: ScoreView, codes: NDArray[np.uint8], total: NDArray[np.float64]
) -> None:
    """Spread the part of every d-mer over its letters.

    The rows list the d-mers by position, and at a position from the shortest to the longest.
    """
    n, L = codes.shape
    rows = view.rows
    clean = _clean_run(codes)
    for i in range(n):
        block = rows.block(np.array([i]), np.float64)
        size = block.indptr[1]
        depth = np.minimum(clean[i], rows.degree)
        begin = np.repeat(np.arange(L), depth)
        d = np.arange(size) - np.repeat(np.cumsum(depth) - depth, depth) + 1
        part = block.values[:size] * view.w[block.indices[:size]] / d
        starts = np.bincount(begin, part, L + 1) - np.bincount(begin + d, part, L + 1)
        total[i] += np.cumsum(starts)[:L] * (codes[i] < 4)


def _add_spectrum(view: ScoreView, codes: NDArray[np.uint8], total: NDArray[np.float64]) -> None:
    """Spread the part of every occurrence of a k-mer over its letters, given the norm."""
    spectrum, k = view.features, int(view.features.k)
    begin = spectrum.begin or 0
    end = codes.shape[1] if spectrum.end is None else spectrum.end
    clean = _clean_run(codes[:, begin:end])
    powers = 4 ** np.arange(k - 1, -1, -1)
    for i, row in enumerate(codes[:, begin:end]):
        starts = np.flatnonzero(clean[i] >= k)
        kmers = np.lib.stride_tricks.sliding_window_view(row, k)[starts] @ powers
        _, counts = np.unique(kmers, return_counts=True)
        norm = np.sqrt(np.sum(counts.astype(np.float64) ** 2)) if spectrum.normalize else 1.0
        part = view.w[kmers] / (k * (norm or 1.0))
        for letter in range(k):
            total[i] += np.bincount(begin + starts + letter, part, total.shape[1])


def _clean_run(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many letters from each position on are A, C, G or T; shape (n, L)."""
    L = codes.shape[1]
    places = np.where(codes < 4, L, np.arange(L))
    nearest = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(nearest - np.arange(L))
