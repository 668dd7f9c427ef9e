"""The letters that nearly all windows share, such as those of a splice site."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER

#: Windows that are searched for the bases that they share; a plain choice.
SAMPLE = 4000
#: Share of the windows that must agree: some sites are non-canonical, such as GC for GT.
AGREEMENT = 0.95


def consensus_pair(windows: Any) -> tuple[int, str] | None:
    """Find the two bases that nearly all windows have, such as the consensus of a splice site.

    Parameters
    ----------
    windows : Windows or WindowStore
        At least one window.

    Returns
    -------
    (offset, letters) or None
        0-based position in the window where an evenly spaced sample agrees best on two bases, and
        these; None if less than 95 % agree. Ties go to the position nearest to the middle.
    """
    length = windows.shape[1]
    frequencies = pair_frequencies(windows)
    best = frequencies.max(axis=0)
    if best.max(initial=0.0) < AGREEMENT:
        return None
    positions = np.flatnonzero(best == best.max())
    offset = int(positions[np.argmin(np.abs(positions - (length // 2 - 1)))])
    pair = int(np.argmax(frequencies[:, offset]))
    return offset, "ACGT"[pair // 4] + "ACGT"[pair % 4]


def pair_frequencies(windows: Any) -> NDArray[np.float64]:
    """Return the share of a sample of windows with each two bases, shape (16, length - 1)."""
    n = windows.shape[0]
    sample = windows[np.arange(0, n, max(1, n // SAMPLE))].matrix()
    pairs = 4 * sample[:, :-1] + sample[:, 1:]
    pairs[(sample[:, :-1] == OTHER) | (sample[:, 1:] == OTHER)] = 16
    return np.array([(pairs == pair).mean(axis=0) for pair in range(16)])
