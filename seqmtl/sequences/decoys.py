"""Draw decoys: candidates of a genome that are not annotated as true sites."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.candidates import clean_windows, count_strata, draw, memory_blocks
from seqmtl.sequences.consensus import consensus_pair
from seqmtl.sequences.genome import Genome
from seqmtl.sequences.intervals import interval_mask, merge_intervals
from seqmtl.sequences.sites import Sites, find_motifs
from seqmtl.sequences.windows import Windows, concatenate

logger = logging.getLogger(__name__)

#: Minimum distance between the centres of a decoy and of any true site, exclusive, in bases.
CLEARANCE = 5


def add_decoys(windows: Windows, genome: Genome, *, ratio: float = 10.0, seed: int = 0) -> Windows:
    """Add decoys drawn from the genome to true sites.

    If at least 95 % of the true sites share a dinucleotide (such as AG or GT) at one position of
    the window, decoys are drawn uniformly, without replacement, from its other occurrences on both
    strands; otherwise from all positions. A decoy's window lies inside its
    contig and contains only A, C, G, T, and its centre is more than 5 bases from that of any true
    site on either strand. A decoy may be an unknown true site.

    Parameters
    ----------
    windows : Windows
        Virtual windows of `genome`, all true (+1) and of one organism.
    genome : Genome
        Genome that the windows lie in.
    ratio : float
        Decoys per true site.
    seed : int
        Equal seeds give equal decoys.

    Returns
    -------
    Windows
        The true sites, then the decoys (-1) in random order. If the sites have splits, a decoy
        belongs to that of the nearest true site.

    Raises
    ------
    ValueError
        If the windows are not as described, or the genome has too few places.
    """
    _check(windows, genome, ratio)
    n_decoys = round(ratio * len(windows))
    site = consensus_pair(windows)
    centers = _centers(windows.starts, windows.is_reverse, windows.length)
    near_sites = merge_intervals(np.stack([centers - CLEARANCE, centers + CLEARANCE + 1], axis=1))
    _, free = count_strata(_candidates(genome, windows.length, site, near_sites), 1)
    total = int(free[0])
    if n_decoys > total:
        raise ValueError(
            f"ratio must leave enough places for decoys: {n_decoys:,} wanted, {total:,} found; "
            "lower the ratio or give decoys in the file of sites"
        )
    candidates = _candidates(genome, windows.length, site, near_sites)
    drawn = draw(candidates, free, np.array([n_decoys]), np.random.default_rng(seed))
    where = f"other {site[1]}" if site else "any position"
    logger.info(
        "drew %d decoys for %d true sites at %s, of %d places", n_decoys, len(windows), where, total
    )
    decoys = Windows(
        windows.codes,
        drawn.starts,
        windows.length,
        is_reverse=drawn.is_reverse,
        labels=np.full(n_decoys, -1, dtype=np.int8),
        task_ids=np.full(n_decoys, windows.task_ids[0]),
        task_names=windows.task_names,
        splits=None if windows.splits is None else _nearest_splits(windows, drawn),
        split_names=windows.split_names,
        locator=windows.locator,
        site=windows.site,
    )
    return concatenate([windows, decoys])


def _check(windows: Windows, genome: Genome, ratio: float) -> None:
    if not ratio > 0:
        raise ValueError(f"ratio must be above 0, got {ratio}; give the decoys per true site")
    n_true = int((windows.labels > 0).sum())
    if not n_true or n_true < len(windows):
        raise ValueError(
            f"windows must be true sites (+1), got {n_true} such of {len(windows)}; "
            "decoys are drawn only where a file has none"
        )
    if windows.codes is not genome.codes:
        raise ValueError("windows must lie in the genome given; read the sites with this genome")
    if (windows.task_ids != windows.task_ids[0]).any():
        raise ValueError("windows must be of one organism; draw decoys organism by organism")
    if genome.padding < 1 and len(genome) > 1:
        raise ValueError("genome must have N between its contigs; load it with padding")


def _center_offsets(length: int) -> tuple[int, int]:
    """Return the distance from start to centre of a window on the plus and minus strand."""
    return length // 2, length - 1 - length // 2


def _centers(
    starts: NDArray[np.int64], is_reverse: NDArray[np.bool_], length: int
) -> NDArray[np.int64]:
    """Return the buffer positions of the bases at window offset ``length // 2``."""
    return starts + np.where(is_reverse, *_center_offsets(length)[::-1])


def _candidates(
    genome: Genome, length: int, site: tuple[int, str] | None, near_sites: NDArray[np.int64]
) -> Iterator[Sites]:
    """Yield the clean windows with the dinucleotide, on the plus and minus strand in turn.

    `near_sites` holds the intervals where the centre of a window is near that of a true site.
    """
    begin_of_all, end_of_all = genome.span
    for begin, n in memory_blocks(begin_of_all, end_of_all - length + 1):
        codes = genome.codes[begin : begin + n + length - 1]
        is_clean = clean_windows(codes, length)
        for is_reverse in (False, True):
            allowed = is_clean
            if site is not None:
                first = length - 2 - site[0] if is_reverse else site[0]
                allowed = is_clean & find_motifs(codes[first : first + n + 1], site[1:], is_reverse)
            starts = np.flatnonzero(allowed)
            is_near = interval_mask(near_sites, begin + _center_offsets(length)[is_reverse], n)[
                starts
            ]
            strata = np.zeros(starts.size, dtype=np.int16)
            strands = np.full(starts.size, is_reverse)
            yield Sites(begin + starts, strands, {"strata": strata, "is_near": is_near})


def _nearest_splits(windows: Windows, drawn: Sites) -> NDArray[np.int16]:
    """Return the split of the true site nearest to each decoy."""
    assert windows.splits is not None
    true = _centers(windows.starts, windows.is_reverse, windows.length)
    order = np.argsort(true)
    true = true[order]
    splits = windows.splits[order]
    decoys = _centers(drawn.starts, drawn.is_reverse, windows.length)
    right = np.clip(np.searchsorted(true, decoys), 1, max(1, true.size - 1))
    if true.size == 1:
        return np.full(decoys.size, splits[0])
    is_left = decoys - true[right - 1] <= true[right] - decoys
    return splits[np.where(is_left, right - 1, right)]
