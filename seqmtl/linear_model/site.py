"""The position of the signal in the windows of a model."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences import Windows, encode
from seqmtl.sequences.consensus import AGREEMENT, SAMPLE
from seqmtl.sequences.sites import words_at

logger = logging.getLogger(__name__)

_BASES = 1 << 24  # letters that are compared at a time
MIN_WINDOWS = 20  # windows, to tell what they share
_MIN_SHARE_AT_SITE = 0.5  # share of the true sites that must have the consensus
START, STOPS = "ATG", "TAA,TAG,TGA"


#: The kinds of signals with their consensus; "" if there is none.
SIGNALS: dict[str, str] = {
    "donor": "GT",
    "acceptor": "AG",
    "tss": "",
    "start": START,
    "stop": STOPS,
    "polya": "",
}


@dataclass(frozen=True)
class Site:
    """The position of the signal in a window, in reading direction.

    Attributes
    ----------
    offset : int
        First base of the site in the window, 0-based.
    length : int
        Bases of the site.
    letters : str
        Consensus of the training windows, several separated by commas, or "" if there
        is none.
    signal : str
        One of :data:`SIGNALS`, or "" if unknown.
    """

    offset: int
    length: int
    letters: str
    signal: str = ""

    @property
    def kind(self) -> str:
        """The signal, guessed from the consensus if it is unknown; "site" if that is ambiguous."""
        by_letters = {"GT": "donor", "GT,GC": "donor", "AG": "acceptor", START: "start"}
        by_letters[STOPS] = "stop"
        return self.signal or by_letters.get(self.letters, "site")

    @property
    def consensus(self) -> tuple[str, ...]:
        """The alternatives of the consensus; empty if there is none."""
        return tuple(self.letters.split(",")) if self.letters else ()

    def require_known(self) -> None:
        """Check that the site was detected.

        Raises
        ------
        ValueError
            If it was not, in the windows of the training.
        """
        if not self.length:
            raise ValueError(
                "the model does not know which base of its windows is the site; tell it to seqmtl "
                "train --site or Windows.from_strings(..., site=100), or train on features that "
                "need no site, such as gapped:8/6"
            )

    def consensus_at(
        self, codes: NDArray[np.uint8], starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        """Return which consensus is at each site, -1 if none, shape (n,).

        Parameters
        ----------
        codes : ndarray of uint8
            Encoded bases, forward strand.
        starts : ndarray of int64, shape (n,)
            0-based first base of each site on the forward strand.
        is_reverse : ndarray of bool, shape (n,)
            Whether a site is on the minus strand.
        """
        return words_at(codes, starts, is_reverse, self.consensus)

    def offsets(self, is_reverse: NDArray[np.bool_], length: int) -> NDArray[np.int64]:
        """Return the bases of windows of this length before their sites, on the forward strand."""
        return np.where(is_reverse, length - self.length - self.offset, self.offset)

    def consensus_of(self, windows: Windows) -> NDArray[np.int8]:
        """Return which consensus is at the site of each window, -1 if none, shape (n,)."""
        starts = windows.starts + self.offsets(windows.is_reverse, windows.length)
        return self.consensus_at(windows.codes, starts, windows.is_reverse)

    def letters_at(self, base: int) -> NDArray[np.uint8]:
        """Return the letters that the alternatives of the consensus have at a base of the site."""
        return encode("".join(dict.fromkeys(word[base] for word in self.consensus)))

    def reading(self, windows: Windows) -> Windows:
        """Return the windows with the first consensus in place of letters that none has.

        A base of the site with a letter that no consensus has there gets that of the first one.
        """
        letters = windows.matrix()
        for base in range(self.length):
            column, allowed = letters[:, self.offset + base], self.letters_at(base)
            column[~np.isin(column, allowed)] = allowed[0]
        return Windows(letters.ravel(), np.arange(len(windows)) * windows.length, windows.length)

    def is_in(self, windows: Windows) -> NDArray[np.bool_]:
        """Return which windows have the consensus at the site, shape (n,); all if there is none."""
        return (
            self.consensus_of(windows) >= 0
            if self.letters
            else np.ones(len(windows), dtype=np.bool_)
        )

    def shares_by_base(self, windows: Windows) -> NDArray[np.float64]:
        """Return the share of windows that have the consensus at each base, if there is one.

        Returns
        -------
        ndarray of float64, shape (length of the windows - length of the site + 1,)
        """
        n, shares = windows.length - self.length + 1, []
        step = max(1, _BASES // max(1, len(windows)))
        for first in range(0, n, step):
            letters = windows.cut(first, min(step, n - first) + self.length - 1).matrix()
            size = letters.shape[1] - self.length + 1
            is_there = np.zeros((len(windows), size), dtype=np.bool_)
            for word in self.consensus:
                matches = (letters[:, k : k + size] == c for k, c in enumerate(encode(word)))
                is_there |= np.logical_and.reduce([*matches])
            shares.append(is_there.mean(axis=0))
        return np.concatenate(shares) if shares else np.zeros(0)

    def warn_missing_consensus(self, windows: Windows) -> None:
        """Warn if windows lack the consensus at the site, and say where else they have it."""
        if n_lacking := int((~self.is_in(windows)).sum()):
            logger.warning(
                "%d of %d windows lack the letters of the model's sites, %s at base %d%s: their "
                "scores mean little",
                n_lacking,
                len(windows),
                self.letters,
                self.offset,
                self._elsewhere(windows),
            )

    def check_consensus(
        self, windows: Windows, y: NDArray[Any], *, or_nowhere: bool = False
    ) -> None:
        """Check that true sites do not have the consensus elsewhere than at the site.

        Raises
        ------
        ValueError
            If most lack it here, and nearly all have it at another base or on the other strand;
            with `or_nowhere` also if they do not.
        """
        true = windows[np.flatnonzero(np.asarray(y) > 0)]
        is_in = self.is_in(true)
        if is_in.sum() >= _MIN_SHARE_AT_SITE * len(true):
            return
        where = self._elsewhere(true)
        if where or or_nowhere:
            raise ValueError(
                f"windows must have {self.letters} at base {self.offset} as in training, got "
                f"{int(is_in.sum())} of {len(true)} true sites{where}; cut them around the same "
                "site"
            )

    def _elsewhere(self, windows: Windows) -> str:
        """Return at which other base, or on which strand, nearly all windows have the consensus."""
        forward = windows[:: max(1, len(windows) // SAMPLE)]
        backward = forward[:]
        backward.is_reverse = ~forward.is_reverse
        for strand, sample in (("they have", forward), ("their other strand has", backward)):
            shares = self.shares_by_base(sample)
            best = int(np.argmax(shares))
            if shares[best] >= AGREEMENT:
                if sample is forward and best == self.offset:
                    break
                return f" ({strand} {self.letters} at base {best})"
        return ""


#: Of windows whose features do not depend on the position.
NO_SITE = Site(0, 0, "")


def sample_of(windows: Any) -> Windows:
    """Return evenly spaced windows, of those in memory or of a store."""
    n = windows.shape[0]
    sample: Windows = windows[np.arange(0, n, max(1, n // SAMPLE))]
    return sample


def find_consensus(windows: Any, letters: str, first: int, n_bases: int) -> Site | None:
    """Return where most windows have the letters inside some bases, if nearly all do."""
    site = Site(0, len(letters.split(",")[0]), letters)
    n_bases = min(n_bases, windows.shape[1] - first)
    if n_bases < site.length:
        return None
    shares = site.shares_by_base(sample_of(windows).cut(first, n_bases))
    best = int(shares.argmax())
    return replace(site, offset=first + best) if shares[best] >= AGREEMENT else None


def site_at(windows: Any, base: int) -> Site:
    """Return the site that begins at a base, with letters if nearly all windows share them."""
    if windows.shape[0] >= MIN_WINDOWS:
        for letters in (START, STOPS, *("".join(pair) for pair in product("ACGT", repeat=2))):
            if site := find_consensus(windows, letters, base, len(letters.split(",")[0])):
                return site
    return Site(base, 1, "")


def site_told_by(windows: Any) -> Site:
    """Return the site of windows that say where it is, or that share letters in the middle.

    Of others it is unknown, without bases.
    """
    if windows.site is not None:
        return site_at(windows, windows.site)
    middle = windows.shape[1] // 2
    site = site_at(windows, middle)
    return site if site.letters else Site(middle, 0, "")
