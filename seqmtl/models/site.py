"""Where the signal sits in a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqmtl.sequences import Windows

_SAMPLE = 4000
_AGREEMENT = 0.95


#: The kinds of signals, and what the genome has at each of them; "" where letters differ.
SIGNALS: dict[str, str] = {
    "donor": "GT",
    "acceptor": "AG",
    "tss": "",
    "start": "ATG",
    "stop": "TAA,TAG,TGA",
    "polya": "",
}


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
        What nearly all training windows have there, several words with commas between them, or
        "" where they differ.
    signal : str
        One of :data:`SIGNALS`, or "" where it is not known.
    """

    offset: int
    length: int
    letters: str
    signal: str = ""

    @property
    def kind(self) -> str:
        """The signal, guessed from the letters where it is not known; "site" in doubt."""
        by_letters = {"GT": "donor", "GT,GC": "donor", "AG": "acceptor", "ATG": "start"}
        return self.signal or by_letters.get(self.letters, "site")


def find_site(windows: Windows) -> Site:
    """Find the two bases that nearly all windows share: the consensus of a splice site.

    The place is that where most windows of a spread sample agree on two bases, 95 of 100 at least;
    among equals the one nearest to the middle. Where there is none, the site is the middle base.
    """
    middle = windows.length // 2
    nothing = Site(middle, 1, "")
    if len(windows) < 20 or windows.length < 2:
        return nothing
    sample = windows[:: max(1, len(windows) // _SAMPLE)].matrix()
    pairs = 4 * sample[:, :-1] + sample[:, 1:]
    pairs[(sample[:, :-1] > 3) | (sample[:, 1:] > 3)] = 16
    shares = np.array([(pairs == pair).mean(axis=0) for pair in range(16)])
    best = shares.max(axis=0)
    if best.max() < _AGREEMENT:
        return nothing
    places = np.flatnonzero(best == best.max())
    offset = int(places[np.argmin(np.abs(places - (middle - 1)))])
    pair = int(np.argmax(shares[:, offset]))
    return Site(offset, 2, "ACGT"[pair // 4] + "ACGT"[pair % 4])
