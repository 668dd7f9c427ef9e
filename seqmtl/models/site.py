"""Find the position of the signal in a window."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.dataset import is_dataset, read_summary
from seqmtl.sequences import Windows, encode

#: Windows of which the site and the anchor are found.
SAMPLE = 4000
_AGREEMENT = 0.95
_NEIGHBOURS = 5  # neighbouring bases over which differences in composition are averaged
_STANDS_OUT = 15.0  # threshold of chi-squared with 3 degrees of freedom, whose mean is 3


#: The kinds of signals with their consensus; "" if there is none.
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
    """The position of the signal in a window, in reading direction.

    Attributes
    ----------
    offset : int
        First base of the site in the window, 0-based.
    length : int
        Bases of the site.
    letters : str
        Consensus of the training windows, several words separated by commas, or "" if there
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
        by_letters = {"GT": "donor", "GT,GC": "donor", "AG": "acceptor", "ATG": "start"}
        return self.signal or by_letters.get(self.letters, "site")

    @property
    def words(self) -> tuple[str, ...]:
        """Words of the consensus; empty if there is none."""
        return tuple(self.letters.split(",")) if self.letters else ()

    def word_at(
        self, codes: NDArray[np.uint8], starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        """Return which of the words is at each site, -1 if none, shape (n,).

        Parameters
        ----------
        codes : ndarray of uint8
            Encoded bases, forward strand.
        starts : ndarray of int64, shape (n,)
            0-based first base of each site on the forward strand.
        is_reverse : ndarray of bool, shape (n,)
            Whether a site is on the minus strand.
        """
        letters = codes[starts[:, np.newaxis] + np.arange(self.length)]
        other = np.where(letters < 4, 3 - letters, letters)[:, ::-1]
        letters = np.where(is_reverse[:, np.newaxis], other, letters)
        found = np.full(starts.size, -1, dtype=np.int8)
        for number, word in enumerate(self.words):
            found[(letters == encode(word)).all(axis=1)] = number
        return found

    def word_of(self, windows: Windows) -> NDArray[np.int8]:
        """Return which of the words is at the site of each window, -1 if none, shape (n,)."""
        behind = windows.length - self.offset - self.length
        starts = windows.starts + np.where(windows.is_reverse, behind, self.offset)
        return self.word_at(windows.codes, starts, windows.is_reverse)

    def is_in(self, windows: Windows) -> NDArray[np.bool_]:
        """Tell which windows have the consensus at the site, shape (n,); all if there is none."""
        return self.word_of(windows) >= 0 if self.letters else np.ones(len(windows), dtype=np.bool_)


def find_site(windows: Windows) -> Site:
    """Find the two bases that nearly all windows share, such as the consensus of a splice site.

    This is the position where most windows of an evenly spaced sample agree on two bases, at least
    95 %; ties go to the one nearest to the middle. Otherwise the site is the middle base.
    """
    middle = windows.length // 2
    nothing = Site(middle, 1, "")
    if len(windows) < 20 or windows.length < 2:
        return nothing
    sample = windows[:: max(1, len(windows) // SAMPLE)].matrix()
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


def find_anchor(windows: Windows, y: NDArray[Any], site: Site) -> int:
    """Return the base of the window at which features have their finest resolution, 0-based.

    This is the site if it is known or has a consensus. Otherwise it is the position where the
    composition of true sites and decoys differs most, by the chi-squared statistic of the counts
    over five neighbouring bases, or the middle if no difference is significant.
    """
    if site.letters or site.signal or site.offset != windows.length // 2:
        return site.offset
    is_true = np.asarray(y) > 0
    if is_true.all() or not is_true.any():
        return site.offset
    chi = np.zeros(windows.length)
    rows = [np.flatnonzero(is_true == side)[:SAMPLE] for side in (True, False)]
    counts = [
        np.array([(windows[row].matrix() == code).sum(axis=0) for code in range(4)]) + 0.5
        for row in rows
    ]
    shares = [count / count.sum(axis=0) for count in counts]
    common = (counts[0] + counts[1]) / (counts[0] + counts[1]).sum(axis=0)
    for count, share in zip(counts, shares, strict=True):
        chi += (count.sum(axis=0) * (share - common) ** 2 / common).sum(axis=0)
    smooth = np.convolve(chi, np.full(_NEIGHBOURS, 1.0 / _NEIGHBOURS), "same")
    best = int(smooth.argmax())
    return best if smooth[best] > _STANDS_OUT else site.offset


def site_in_dataset(data: str | None, length: int, shift: int) -> Site | None:
    """Return the site in windows cut from a dataset, or None for other inputs.

    Parameters
    ----------
    data : str or None
        The DATA argument.
    length : int
        Length of the cut windows in bases.
    shift : int
        Their offset from the centre in bases.
    """
    if data is None or not is_dataset(data):
        return None
    summary = read_summary(data)
    site = Site(**summary["site"])
    wide = length + 2 * abs(shift)
    before = (summary["window"] - wide) // 2 + abs(shift) + shift
    if not 0 <= site.offset - before <= length - site.length:
        raise SeqmtlError(
            f"--window {length} --shift {shift} cuts off the {site.kind} site at offset "
            f"{site.offset} of the dataset's {summary['window']} bases; take a longer window or "
            "another shift"
        )
    return Site(site.offset - before, site.length, site.letters, site.signal)


def site_of_model(model: Site, data: str | os.PathLike[str], length: int, shift: int) -> Site:
    """Return the site of a dataset in windows cut like those of a model.

    Parameters
    ----------
    model : Site
        Site of the model.
    data : path-like
        Dataset.
    length, shift : int
        Length and offset of the model's windows.

    Raises
    ------
    SeqmtlError
        If the dataset has another signal or other letters, or has them at another position.
    """
    site = site_in_dataset(os.fspath(data), length, shift)
    if site is None:
        raise SeqmtlError(f"{data} must be a dataset; name a folder of seqmtl dataset")
    if model.signal:
        theirs, ours = (f"{s.signal} sites at base {s.offset}" for s in (site, model))
        if theirs != ours:
            raise SeqmtlError(
                f"the model has {ours} of its {length}, but {os.fspath(data)} has {theirs}; build "
                "a dataset with the model's signal and shift"
            )
    elif model.letters and site.letters:
        is_shared = bool(set(model.letters.split(",")) & set(site.letters.split(",")))
        if model.offset != site.offset or not is_shared:
            theirs, ours = (f"{s.letters} at base {s.offset}" for s in (site, model))
            raise SeqmtlError(
                f"the windows that the model was trained on have {ours} of {length}, but the sites "
                f"of {os.fspath(data)} have {theirs}; build a dataset with the model's signal"
            )
    return site
