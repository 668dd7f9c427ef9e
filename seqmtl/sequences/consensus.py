"""The two bases that nearly all windows share, such as the consensus of a splice site."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Windows of which the consensus is found.
SAMPLE = 4000
_SHARED = 0.95  # share of the windows that have it


def shared_dinucleotide(windows: Any, reach: int | None = None) -> tuple[int, str] | None:
    """Find the dinucleotide that at least 95 % of an evenly spaced sample of windows share.

    Parameters
    ----------
    windows : Windows or WindowStore
        At least one.
    reach : int, optional
        How far from the centre it may be, in bases. Default: anywhere.

    Returns
    -------
    (offset, letters) or None
        0-based position in the window where most windows agree, and its letters; ties go to the
        one nearest to the middle.
    """
    n, length = windows.shape
    middle = length // 2 - 1
    sample = windows[np.arange(0, n, max(1, n // SAMPLE))].matrix()
    pairs = 4 * sample[:, :-1] + sample[:, 1:]
    pairs[(sample[:, :-1] > 3) | (sample[:, 1:] > 3)] = 16
    shares = np.array([(pairs == pair).mean(axis=0) for pair in range(16)])
    distance = np.abs(np.arange(length - 1) - middle)
    best = np.where(distance <= (length if reach is None else reach), shares.max(axis=0), 0.0)
    if best.max(initial=0.0) < _SHARED:
        return None
    offset = int(np.lexsort([distance, -best])[0])
    pair = int(np.argmax(shares[:, offset]))
    return offset, "ACGT"[pair // 4] + "ACGT"[pair % 4]
