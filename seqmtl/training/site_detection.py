"""Find the site in the windows of a training."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.grammar import (
    ANYWHERE_VIEWS,
    DEFAULT_VIEWS,
    EXACT_VIEWS,
    STRANDED_VIEWS,
    VARIANTS,
)
from seqmtl.features.joint import features_from_dict, parse_features
from seqmtl.features.numeric import Numeric
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.io.window_store import WindowStore
from seqmtl.linear_model.dataset_site import site_in_dataset
from seqmtl.linear_model.site import (
    MIN_WINDOWS,
    NO_SITE,
    START,
    STOPS,
    Site,
    find_consensus,
    sample_of,
    site_at,
)
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.consensus import AGREEMENT, SAMPLE, consensus_pair, pair_frequencies
from seqmtl.sequences.examples import Examples
from seqmtl.sequences.quality import lengths_of

logger = logging.getLogger(__name__)

_MIDDLE = "the middle, where true sites and decoys differ most"
#: K-mers anywhere, of both strands and of one; and some that take a quarter of their time.
_ANYWHERE = (ANYWHERE_VIEWS, STRANDED_VIEWS)
_SHORT, _SHORT_STRANDED = "spectrum:1-6", "spectrum:1-6:stranded"
_MIN_LENGTH = 20  # bases of windows for which kinds of features are compared
#: Bases of runs of shared letters that are adapters and no site, at an end and elsewhere.
_END_RUN, _LONG_RUN = 6, 10
_NEIGHBOURS = 5  # neighbouring bases over which differences in composition are averaged
_CHI_SQUARED = 15.0  # threshold of chi-squared with 3 degrees of freedom, whose mean is 3


def find_site(windows: Windows | WindowStore) -> Site:
    """Find the site by the letters that nearly all windows share, or else take the middle base.

    These are a start codon, two bases, or stop codons.
    """
    n, length = windows.shape
    if n < MIN_WINDOWS or length < 2:
        return Site(length // 2, 1, "")
    sample = _without_adapters(windows)
    shared = consensus_pair(sample)
    if shared is None:
        return find_consensus(sample, STOPS, 0, length) or Site(length // 2, 1, "")
    offset, letters = shared
    if letters in START:
        first = offset - START.index(letters)
        if first >= 0 and (codon := find_consensus(sample, START, first, 3)):
            return codon
    return Site(offset, 2, letters)


def _adapters(windows: Windows) -> list[tuple[int, int]]:
    """Return runs of letters that nearly all windows share, too long for a site: first, last + 1.

    They are of 6 bases at an end of the windows, or of 10 anywhere.
    """
    letters = windows.matrix()
    is_shared = np.zeros(windows.length + 2, dtype=np.int8)
    for code in range(4):
        is_shared[1:-1] |= (letters == code).mean(axis=0) >= AGREEMENT
    edges = np.flatnonzero(np.diff(is_shared)).reshape(-1, 2).tolist()
    ends = {0, windows.length}
    return [
        (first, last)
        for first, last in edges
        if last - first >= (_END_RUN if ends & {first, last} else _LONG_RUN)
    ]


def _without_adapters(windows: Windows | WindowStore) -> Windows:
    """Return a sample of windows with N in place of adapters, see :func:`_adapters`."""
    sample = sample_of(windows)
    runs = _adapters(sample)
    if not runs:
        return sample
    letters = sample.matrix()
    for first, last in runs:
        letters[:, first:last] = OTHER
    return sample.with_letters(letters)


def adapter_warnings(windows: Windows | WindowStore, y: NDArray[Any]) -> list[str]:
    """Describe long runs of letters that all windows share, or those of one class."""
    windows = _common_bases(windows) if isinstance(windows, Windows) else windows
    signs = np.sign(y)
    groups = {"windows": np.abs(signs) >= 0, "positives": signs > 0, "negatives": signs < 0}
    for who, is_chosen in groups.items():
        rows = np.flatnonzero(is_chosen)
        if rows.size < MIN_WINDOWS:
            continue
        sample = windows[rows[:: max(1, rows.size // SAMPLE)]]
        where = [
            f"the first {last}"
            if first == 0
            else f"the last {last - first}"
            if last == sample.length
            else f"{last - first} from base {first} (0-based)"
            for first, last in _adapters(sample)
        ]
        if where:
            return [
                f"all {who} have the same letters at {' and '.join(where)} of {sample.length} "
                "bases, as adapters, primers and tails do; cut them off"
            ]
    return []


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
        return site_at(windows, windows.site), "as given"
    site = find_site(windows)
    if site.letters:
        return site, f"all windows have {site.letters} there"
    rows = np.flatnonzero(np.asarray(y) > 0)
    if MIN_WINDOWS <= rows.size < n:
        true = _without_adapters(windows[rows[:: max(1, rows.size // SAMPLE)]])
        shared = find_site(true)
        n_pairs = int((pair_frequencies(true).max(axis=0) >= AGREEMENT).sum())
        is_clear = n_pairs < shared.length or shared.offset == (length - shared.length) // 2
        if shared.letters and is_clear:  # decoys are anywhere, and so are candidates
            return replace(shared, letters=""), f"all true sites have {shared.letters} there"
    best = _most_different(windows, y)
    if best is not None and abs(best - site.offset) <= _NEIGHBOURS:
        return site, _MIDDLE
    where = "nowhere clearly" if best is None else f"most at base {best}"
    raise SeqmtlError(
        f"the site of the windows of {length} bases is unknown: the true sites share no letters, "
        f"and differ from the decoys {where}; give its first base (0-based, {site.offset} if it is "
        "the middle) with --site or in a column site"
    )


def site_of_examples(
    examples: Examples,
    features: FeatureDefinition | None,
    dataset: str | None,
    base: int | None,
    shift: int,
) -> Site:
    """Return the site of examples that were read to train on, and log it.

    Parameters
    ----------
    examples : Examples
        The examples.
    features : FeatureDefinition or None
        Their features; if these are position-free, there is no site. With None, those of the
        default, the site may be unknown.
    dataset : str, optional
        The dataset that they come from, which has its site.
    base : int, optional
        First base of the site in the sequences as they were read.
    shift : int
        Offset of the windows from the centre of the sequences.

    Raises
    ------
    SeqmtlError
        If it is unknown, or cut off.
    """
    length = examples.data.shape[1]
    if dataset is None and isinstance(examples.data, Windows | WindowStore):
        for fault in adapter_warnings(examples.data, examples.y):
            logger.warning("%s", fault)
    is_free = features is not None and features.is_position_free
    if is_free or (features is None and differ_in_length(examples.data)):
        return NO_SITE
    site, how = site_in_dataset(dataset, length, shift), "as in the dataset"
    if site is None:
        if base is not None and examples.data.site is None:
            raise UsageError(
                f"--window {length} --shift {shift} cuts off the site, --site {base}; take a "
                "longer window or another shift"
            )
        try:
            site, how = locate(examples.data, examples.y)
        except SeqmtlError:
            if features is not None:
                raise
            return Site(length // 2, 0, "")
    logger.info("the site begins at base %d of %d (0-based): %s", site.offset, length, how)
    return site


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


def differ_in_length(windows: Windows | WindowStore) -> bool:
    """Return whether windows are sequences of different lengths; those on disk are not."""
    return isinstance(windows, Windows) and windows.is_padded


def _common_bases(windows: Windows) -> Windows:
    """Return the first bases of sequences of different lengths, those that nearly all have."""
    if not windows.is_padded or not len(windows):
        return windows
    lengths = np.sort(lengths_of(windows))
    return windows.cut(0, max(1, int(lengths[int((1 - AGREEMENT) * lengths.size)])))


def check_no_site(windows: Windows) -> None:
    """Check that sequences of different lengths have no site.

    Raises
    ------
    SeqmtlError
        If they have one: the shorter or longer ones may have it at another base.
    """
    windows = _common_bases(windows)
    try:
        site, how = locate(windows, windows.labels)
    except SeqmtlError:
        return
    if how != _MIDDLE:
        raise SeqmtlError(
            f"the sequences differ in length, but have a site at base {site.offset} (0-based, "
            f"{how}); cut them to one length, or, if they have no site, choose features that need "
            "no positions, such as --features gapped:8/6"
        )


def find_anchor(windows: Windows | WindowStore, y: NDArray[Any], site: Site) -> int:
    """Return the base of the window at which features have their finest resolution, 0-based.

    This is the site if it was detected or has a consensus. Otherwise it is the position where the
    composition of true sites and decoys differs most, by the chi-squared statistic of the counts
    over five neighbouring bases, or the middle if no difference is significant.
    """
    if not _is_middle(site, windows):
        return site.offset
    best = _most_different(windows, y)
    return site.offset if best is None else best


def _is_middle(site: Site, windows: Windows | WindowStore) -> bool:
    """Return whether a site is only the middle base, without a consensus or a signal."""
    return not site.letters and not site.signal and site.offset == windows.shape[1] // 2


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
    return best if smooth[best] > _CHI_SQUARED else None


def find_candidates(
    examples: Examples, features: FeatureDefinition | None, site: Site | None
) -> tuple[list[FeatureDefinition], Site]:
    """Return the features to choose from for a training, and the site of windows.

    Parameters
    ----------
    examples : Examples
        All examples.
    features : FeatureDefinition, optional
        The only ones, anchored at the site. Default: those of :func:`default_kinds`, or numbers.
    site : Site, optional
        Position of the signal. Default: detected by :func:`locate`; else it is unknown.
    """
    if not isinstance(examples.data, Windows | WindowStore):
        return [features or Numeric()], NO_SITE
    if features is not None and features.is_position_free:
        return [features], NO_SITE
    if features is None and (site is None or not site.length) and differ_in_length(examples.data):
        logger.info("the sequences differ in length: features have no positions")
        return [parse_features(text) for text in _ANYWHERE], NO_SITE
    if site is None:
        try:
            site, _ = locate(examples.data, examples.y)
        except SeqmtlError:
            site = Site(examples.data.shape[1] // 2, 0, "")
    kinds = [features or PositionalKmers()]
    if features is None and examples.data.shape[1] >= _MIN_LENGTH:
        kinds = [parse_features(text) for text in default_kinds(examples.data, site)]
    offset, length = find_anchor(examples.data, examples.y, site), examples.data.shape[1]
    anchored = (kind.anchored(offset, len(examples.names)) for kind in kinds)
    return [features_from_dict(kind.to_dict(length)) for kind in anchored], site


def default_kinds(windows: Windows | WindowStore, site: Site) -> list[str]:
    """Return the kinds of features to choose from for windows with a site, the fastest first.

    If the site has letters, they are those of the default and their variants; of letters of no
    known signal, such as those of poly(A) sites, also the default with short k-mers anywhere. Else
    they are those of the default and exact positions. If then no site is given, or only the middle
    base stands out, also each of these with short k-mers anywhere; k-mers anywhere, of both strands
    or of one; and each of the first two with these.
    """
    is_found = windows.site is None
    if site.letters:
        kinds = [DEFAULT_VIEWS, *VARIANTS]
        is_other = is_found and site.kind == "site"
        return [*kinds, f"{DEFAULT_VIEWS} + {_SHORT_STRANDED}"] if is_other else kinds
    kinds = [DEFAULT_VIEWS, EXACT_VIEWS]
    if site.length and not (is_found and _is_middle(site, windows)):
        return kinds
    joint = [f"{kind} + {other}" for kind, other in product(kinds, _ANYWHERE)]
    return [*kinds, *(f"{kind} + {_SHORT}" for kind in kinds), *_ANYWHERE, *joint]
