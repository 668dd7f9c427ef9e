"""Sites in tandem repeats, such as satellites: no introns begin or end there.

All copies of a repeat have the same chance resemblance to sites, so that many of them look like a
gene of many exons. The letters around the sites of genes are hardly ever three times within a few
thousand bases. Introns that are given are judged without this rule, as they are not chance, and
alleles compared, as one base would end a copy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.splicing.coding_loops import find_copies, list_words

_SPAN = 5_000  # bases from the first to the last of three copies
_FLANK = 11  # bases on either side of a site that copies share
_SITE = 2  # bases


def in_tandem_repeats(codes: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which sites are one of three copies that begin within 5,000 bases of each other.

    Copies have the letters of the site and 11 on either side, on the same strand.

    Parameters
    ----------
    codes : ndarray of uint8
        Letters of a stretch of a contig.
    starts : ndarray of int64, shape (n,)
        First bases of sites of two bases.
    """
    is_copy = np.empty(starts.size, dtype=np.bool_)
    words = list_words(codes, 2 * _FLANK + _SITE)
    find_copies(words, starts + _FLANK + _SITE - 1, _FLANK, _SPAN, is_copy)
    return is_copy
