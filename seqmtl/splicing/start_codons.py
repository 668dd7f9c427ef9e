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
_REACH = 6  # bases at most
#: Log of the share of A, C, G and T there in start codons, less that in other ATGs, of 209 genes of
#: all eukaryotes; `benchmarks/bench_starts.py` learns it.
LOG_RATIOS = np.array(
    [
        [-0.10, -0.22, 0.45, -0.24],
        [-0.18, 0.44, -0.05, -0.17],
        [-0.02, 0.63, -0.59, -0.23],
        [0.48, -0.96, 0.32, -0.72],
        [0.15, 0.59, -0.87, -0.26],
        [-0.21, 0.46, 0.10, -0.72],
        [-0.60, -0.34, 0.87, -0.63],
        [-0.63, 0.88, -0.66, -0.14],
        [-0.78, -0.06, 0.62, -0.10],
    ]
)


def score_starts(
    codes: NDArray[np.uint8], starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the log-likelihood ratios of start codons, by the letters around them.

    Letters other than A, C, G, T and those beyond an end count nothing.

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
    padded = np.pad(codes, _REACH, constant_values=OTHER)
    first, step = starts + 2 * is_reverse + _REACH, 1 - 2 * is_reverse
    letters = padded[first[:, np.newaxis] + step[:, np.newaxis] * PLACES]
    plus = np.pad(LOG_RATIOS, ((0, 0), (0, 1)))
    by_strand = np.stack([plus, plus[:, [3, 2, 1, 0, OTHER]]])  # of complements
    rows = is_reverse.astype(np.int64)[:, np.newaxis], np.arange(len(PLACES)), letters
    return np.asarray(by_strand[rows].sum(axis=1))
