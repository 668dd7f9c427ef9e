"""Find the position of the signal in a window."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.dataset import is_dataset, read_summary
from seqmtl.io.window_store import WindowStore
from seqmtl.sequences import Windows, encode
from seqmtl.sequences.decoys import AGREEMENT, SAMPLE, pair_shares, shared_pair
from seqmtl.sequences.examples import Examples

logger = logging.getLogger(__name__)

_FEWEST = 20  # windows, to tell what they share
_LEAST_IN_PLACE = 0.5  # share of the true sites that must have the consensus
_NEIGHBOURS = 5  # neighbouring bases over which differences in composition are averaged
_START, _STOPS = "ATG", "TAA,TAG,TGA"
_STANDS_OUT = 15.0  # threshold of chi-squared with 3 degrees of freedom, whose mean is 3


#: The kinds of signals with their consensus; "" if there is none.
SIGNALS: dict[str, str] = {
    "donor": "GT",
    "acceptor": "AG",
    "tss": "",
    "start": _START,
    "stop": _STOPS,
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
        by_letters = {"GT": "donor", "GT,GC": "donor", "AG": "acceptor", _START: "start"}
        by_letters[_STOPS] = "stop"
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
                "the model does not know which base of its windows is the site: the true sites "
                "of the training share no letters, and differ from the decoys nowhere clearly; "
                "train on windows that tell it, such as Windows.from_strings(..., site=100)"
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
        letters = codes[starts[:, np.newaxis] + np.arange(self.length)]
        other = np.where(letters < 4, 3 - letters, letters)[:, ::-1]
        letters = np.where(is_reverse[:, np.newaxis], other, letters)
        numbers = np.full(starts.size, -1, dtype=np.int8)
        for number, word in enumerate(self.consensus):
            numbers[(letters == encode(word)).all(axis=1)] = number
        return numbers

    def consensus_of(self, windows: Windows) -> NDArray[np.int8]:
        """Return which consensus is at the site of each window, -1 if none, shape (n,)."""
        behind = windows.length - self.offset - self.length
        starts = windows.starts + np.where(windows.is_reverse, behind, self.offset)
        return self.consensus_at(windows.codes, starts, windows.is_reverse)

    def is_in(self, windows: Windows) -> NDArray[np.bool_]:
        """Return which windows have the consensus at the site, shape (n,); all if there is none."""
        return (
            self.consensus_of(windows) >= 0
            if self.letters
            else np.ones(len(windows), dtype=np.bool_)
        )

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
        if is_in.sum() >= _LEAST_IN_PLACE * len(true):
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
            moved = [replace(self, offset=k) for k in range(windows.length - self.length + 1)]
            shares = [site.is_in(sample).mean() for site in moved]
            best = int(np.argmax(shares))
            if shares[best] >= AGREEMENT:
                if sample is forward and best == self.offset:
                    break
                return f" ({strand} {self.letters} at base {best})"
        return ""


def find_site(windows: Windows | WindowStore) -> Site:
    """Find the site by the letters that nearly all windows share, or else take the middle base.

    These are a start codon, two bases, or stop codons.
    """
    n, length = windows.shape
    if n < _FEWEST or length < 2:
        return Site(length // 2, 1, "")
    shared = shared_pair(windows)
    if shared is None:
        return _find_consensus(windows, _STOPS, range(length - 2)) or Site(length // 2, 1, "")
    offset, letters = shared
    if letters in _START:
        first = offset - _START.index(letters)
        if codon := _find_consensus(
            windows, _START, range(max(first, 0), min(first + 1, length - 2))
        ):
            return codon
    return Site(offset, 2, letters)


def _find_consensus(
    windows: Windows | WindowStore, letters: str, bases: Sequence[int]
) -> Site | None:
    """Return the one of some bases at which most windows have the letters, if nearly all do."""
    n = windows.shape[0]
    sample = windows[np.arange(0, n, max(1, n // SAMPLE))]
    sites = [Site(base, len(letters.split(",")[0]), letters) for base in bases]
    shares = [site.is_in(sample).mean() for site in sites]
    best = int(np.argmax(shares)) if shares else -1
    return sites[best] if shares and shares[best] >= AGREEMENT else None


def locate(windows: Windows | WindowStore, y: NDArray[Any]) -> tuple[Site, str]:
    """Return the site of training windows, and how it was detected.

    It is what the windows say, or where all of them, or all true sites, share letters at one
    base (see :func:`find_site`), or the middle if true sites and decoys differ most around it.

    Raises
    ------
    SeqmtlError
        If it is none of these.
    """
    n, length = windows.shape
    if windows.site is not None:
        return _site_at(windows, windows.site), "as given"
    site = find_site(windows)
    if site.letters:
        return site, f"all windows have {site.letters} there"
    rows = np.flatnonzero(np.asarray(y) > 0)
    if _FEWEST <= rows.size < n:
        true = windows[rows[:: max(1, rows.size // SAMPLE)]]
        shared = find_site(true)
        n_pairs = int((pair_shares(true).max(axis=0) >= AGREEMENT).sum())
        is_clear = n_pairs < shared.length or shared.offset == (length - shared.length) // 2
        if shared.letters and is_clear:  # decoys are anywhere, and so are candidates
            return replace(shared, letters=""), f"all true sites have {shared.letters} there"
    best = _most_different(windows, y)
    if best is not None and abs(best - site.offset) <= _NEIGHBOURS:
        return site, "the middle, where true sites and decoys differ most"
    where = "nowhere clearly" if best is None else f"most at base {best}"
    raise SeqmtlError(
        f"the site of the windows of {length} bases is unknown: the true sites share no letters, "
        f"and differ from the decoys {where}; give its first base (0-based, {site.offset} if it is "
        "the middle) with --site or in a column site"
    )


def _site_at(windows: Windows | WindowStore, base: int) -> Site:
    """Return the site that begins at a base, with letters if nearly all windows share them."""
    n, length = windows.shape
    if n >= _FEWEST:
        for letters in (_START, _STOPS, *("".join(pair) for pair in product("ACGT", repeat=2))):
            fits = base + len(letters.split(",")[0]) <= length
            if fits and (site := _find_consensus(windows, letters, [base])):
                return site
    return Site(base, 1, "")


def find_in_shorter(site: Site, windows: Windows, length: int, likely: Sequence[int]) -> int:
    """Return the base of windows at which they have the site of a model.

    It is where nearly all of them, or else of the true sites, have its letters. Of several such
    bases, it is the one that is likely.

    Parameters
    ----------
    site : Site
        Site of the model.
    windows : Windows
        Windows that are shorter than those of the model.
    length : int
        Bases that the model's windows are cut from.
    likely : sequence of int
        Where it is if they are cut as those of the model.

    Raises
    ------
    SeqmtlError
        If there is no such base.
    """
    bases = range(windows.length - site.length + 1) if site.letters else ()
    for some in (windows, windows[np.flatnonzero(windows.labels > 0)]):
        sample = some[:: max(1, len(some) // SAMPLE)]
        if not len(sample):
            continue
        agreeing = [k for k in bases if replace(site, offset=k).is_in(sample).mean() >= AGREEMENT]
        right = [k for k in likely if k in agreeing]
        if len(right) == 1:
            return right[0]
        if len(agreeing) == 1 and len(sample) >= _FEWEST:
            return agreeing[0]
    where = f"they have {site.letters} at no single base" if site.letters else "it has no letters"
    raise SeqmtlError(
        f"windows of {windows.length} bases are shorter than the model's {length}, and their "
        f"site is unknown ({where}); give its first base (0-based) in a column site, or as site= "
        "in FASTA"
    )


def find_misplaced(windows: Windows) -> list[str]:
    """Describe groups of true sites, by organism and split, without the consensus of the others.

    The consensus and its position are those that most groups have.
    """
    true = windows[np.flatnonzero(windows.labels > 0)]
    splits = np.zeros(len(true), dtype=np.int64) if true.splits is None else true.splits
    groups = {}
    for t, s in sorted(set(zip(true.task_ids.tolist(), splits.tolist(), strict=True))):
        name = true.task_names[t] + (f" ({true.split_names[s]})" if true.split_names else "")
        groups[name] = true[np.flatnonzero((true.task_ids == t) & (splits == s))]
    sites = Counter(site for group in groups.values() if (site := find_site(group)).letters)
    faults = []
    for name, group in groups.items() if sites else ():
        try:
            sites.most_common(1)[0][0].check_consensus(group, group.labels)
        except ValueError as error:
            faults.append(f"the sites of {name} are elsewhere than those of others: {error}")
    return faults


def find_anchor(windows: Windows | WindowStore, y: NDArray[Any], site: Site) -> int:
    """Return the base of the window at which features have their finest resolution, 0-based.

    This is the site if it was detected or has a consensus. Otherwise it is the position where the
    composition of true sites and decoys differs most, by the chi-squared statistic of the counts
    over five neighbouring bases, or the middle if no difference is significant.
    """
    if site.letters or site.signal or site.offset != windows.shape[1] // 2:
        return site.offset
    best = _most_different(windows, y)
    return site.offset if best is None else best


def _most_different(windows: Windows | WindowStore, y: NDArray[Any]) -> int | None:
    """Return the base where true sites and decoys differ most, None if nowhere significantly."""
    is_true = np.asarray(y) > 0
    if is_true.all() or not is_true.any():
        return None
    chi = np.zeros(windows.shape[1])
    rows = [np.flatnonzero(is_true == side)[:SAMPLE] for side in (True, False)]
    samples = [windows[row].matrix() for row in rows]
    counts = [
        np.array([(codes == code).sum(axis=0) for code in range(4)]) + 0.5 for codes in samples
    ]
    shares = [count / count.sum(axis=0) for count in counts]
    common = (counts[0] + counts[1]) / (counts[0] + counts[1]).sum(axis=0)
    for count, share in zip(counts, shares, strict=True):
        chi += (count.sum(axis=0) * (share - common) ** 2 / common).sum(axis=0)
    smooth = np.convolve(chi, np.full(_NEIGHBOURS, 1.0 / _NEIGHBOURS), "same")
    best = int(smooth.argmax())
    return best if smooth[best] > _STANDS_OUT else None


def anchor_features(
    features: Any, examples: Examples, site: Site | None
) -> tuple[Any, Site | None]:
    """Return the features for training on windows, and the site; None for numbers.

    A site that is not given is detected by :func:`locate`; otherwise it is unknown, without bases.
    """
    if not isinstance(examples.data, Windows | WindowStore):
        return features, site
    if site is None:
        try:
            site, _ = locate(examples.data, examples.y)
        except SeqmtlError:
            site = Site(examples.data.shape[1] // 2, 0, "")
    offset = find_anchor(examples.data, examples.y, site)
    return features.anchored(offset, len(examples.names)), site


def _site_of(summary: Mapping[str, Any]) -> Site:
    """Return the site of a dataset, without what later versions may add."""
    keys = ("offset", "length", "letters", "signal")
    return Site(**{key: value for key, value in summary["site"].items() if key in keys})


def site_in_dataset(data: str, length: int, shift: int) -> Site | None:
    """Return the site in windows cut from a dataset, or None for other inputs.

    Parameters
    ----------
    data : str
        The DATA argument.
    length : int
        Length of the cut windows in bases.
    shift : int
        Their offset from the centre in bases.
    """
    if not is_dataset(data):
        return None
    summary = read_summary(data)
    site = _site_of(summary)
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
    """Return the site of a dataset where a model has it in its windows.

    Parameters
    ----------
    model : Site
        Site of the model. If its signal and its letters are unknown, and it is in the middle, its
        windows are taken to be cut from the centre of the dataset's.
    data : path-like
        Dataset.
    length, shift : int
        Length of the model's windows, and their offset from the centre.

    Raises
    ------
    SeqmtlError
        If the dataset has another signal or other letters.
    """
    data = os.fspath(data)
    if not is_dataset(data):
        raise SeqmtlError(f"{data} must be a dataset; name a folder of seqmtl dataset")
    site = _site_of(read_summary(data))
    if not model.signal and not model.consensus:
        if model.offset != length // 2:
            return replace(site, offset=model.offset)
        return site_in_dataset(data, length, shift) or site
    is_shared = bool({*model.consensus} & {*site.consensus}) or not site.consensus
    if site.signal != model.signal if model.signal else not is_shared:
        ours, theirs = (f"{s.signal or s.letters} sites" for s in (model, site))
        raise SeqmtlError(
            f"the model has {ours} at base {model.offset} of its {length}, but {data} has "
            f"{theirs}; build a dataset with the model's signal"
        )
    return replace(site, offset=model.offset)
