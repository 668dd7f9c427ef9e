"""Where the signal sits in a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqmtl.sequences import Windows


@dataclass(frozen=True)
class Site:
    """Where the signal sits in a window, in reading direction.

    Attributes
    ----------
    offset : int
        0-based first base of the site in the window.
    length : int
        Bases of the site.
    letters : str
        What all training windows have there, or "" where they differ.
    """

    offset: int
    length: int
    letters: str


def find_site(windows: Windows) -> Site:
    """Find the two bases that all windows share: the consensus of a splice site.

    Among several such places the one nearest to the middle of the window wins. Where there is
    none, the site is the middle base.
    """
    middle = windows.length // 2
    sample = windows[: min(len(windows), 20_000)].matrix()
    same = (sample == sample[0]).all(axis=0) & (sample[0] < 4)
    pairs = np.flatnonzero(same[:-1] & same[1:])
    if not pairs.size or len(windows) < 20:
        return Site(middle, 1, "")
    offset = int(pairs[np.argmin(np.abs(pairs - (middle - 1)))])
    letters = "".join("ACGT"[code] for code in sample[0, offset : offset + 2])
    return Site(offset, 2, letters)
