"""Start codons, by the letters around them.

Translation prefers to begin at an ATG after a purine and before G, and proteins to go on with
alanine. One table serves all eukaryotes: those of clades, of fewer genes, find no more introns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER

#: Bases from the A of the codon.
PLACES = (-6, -5, -4, -3, -2, -1, 3, 4, 5)
_BEFORE = 6  # of these are before the codon
#: Log of the share of A, C, G and T there in start codons, less that in other ATGs, of 209 genes of
#: all eukaryotes. A and T together have the mean of C and G, so that genomes rich in either have no
#: fewer start codons; `benchmarks/bench_starts.py` learns it.
LOG_RATIOS = np.array(
    [
        [0.04, -0.36, 0.31, -0.10],
        [0.01, 0.26, -0.23, 0.01],
        [0.05, 0.56, -0.66, -0.16],
        [0.38, -0.86, 0.42, -0.82],
        [0.11, 0.63, -0.83, -0.30],
        [0.16, 0.09, -0.27, -0.34],
        [-0.16, -0.78, 0.43, -0.20],
        [-0.38, 0.64, -0.91, 0.11],
        [-0.42, -0.42, 0.26, 0.26],
    ]
)


def score_starts(
    codes: NDArray[np.uint8], starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the log-likelihood ratios of start codons, by the letters around them.

    Letters other than A, C, G, T count nothing, nor what is beyond them, or beyond an end.

    Parameters
    ----------
    codes : ndarray of uint8
        Letters of a forward strand.
    starts : ndarray of int64, shape (n,)
        First base of each start codon, as read on the forward strand.
    is_reverse : ndarray of bool, shape (n,)
        Whether it is on the minus strand.

    Returns
    -------
    ndarray of float64, shape (n,)
        Of each.
    """
    padded = np.pad(codes, _BEFORE, constant_values=OTHER)
    first, step = starts + 2 * is_reverse + _BEFORE, 1 - 2 * is_reverse
    letters = padded[first[:, np.newaxis] + step[:, np.newaxis] * PLACES]
    is_clean = letters < OTHER
    before, behind = is_clean[:, _BEFORE - 1 :: -1], is_clean[:, _BEFORE:]
    for outwards in (before, behind):
        np.logical_and.accumulate(outwards, axis=1, out=outwards)
    letters[~is_clean] = OTHER
    plus = np.pad(LOG_RATIOS, ((0, 0), (0, 1)))
    by_strand = np.stack([plus, plus[:, [3, 2, 1, 0, OTHER]]])  # of complements
    rows = is_reverse.astype(np.int64)[:, np.newaxis], np.arange(len(PLACES)), letters
    return np.asarray(by_strand[rows].sum(axis=1))
