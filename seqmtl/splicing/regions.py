"""The regions that a dataset of donors and one of acceptors have in the same split."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.streams import PathLike
from seqmtl.io.dataset import SplitGenome, chosen_organisms, read_split_genome, read_summary
from seqmtl.splicing.coding import Stretch
from seqmtl.splicing.layer import ENDS

SITE_LENGTH = 2


class KnownSites(NamedTuple):
    """Annotated donors and acceptors on one strand of a region, in reading direction.

    Attributes
    ----------
    places : ndarray of int64, shape (n,)
        Bases of the strand before the intron (donors), or before its end (acceptors); not
        decreasing.
    is_donor : ndarray of bool, shape (n,)
        Donors; the others are acceptors.
    is_true : ndarray of bool, shape (n,)
        Whether a site is a true site of its dataset; the others were excluded from it.
    """

    places: NDArray[np.int64]
    is_donor: NDArray[np.bool_]
    is_true: NDArray[np.bool_]


def shared_organisms(donors: PathLike, acceptors: PathLike) -> list[str]:
    """Return the organisms of two datasets, after checking that they can be paired.

    Raises
    ------
    SeqmtlError
        If they have other signals, organisms or genomes.
    """
    summaries = [read_summary(path) for path in (donors, acceptors)]
    for path, summary, end in zip((donors, acceptors), summaries, ENDS, strict=True):
        if summary["signal"] != end:
            raise SeqmtlError(
                f"{path} must be a dataset of {end}s, but its signal is {summary['signal']!r}; "
                "give the dataset of donors first, that of acceptors second"
            )
    names, others = (chosen_organisms(summary, None) for summary in summaries)
    positions = match_names(names, others, os.fspath(acceptors))
    match_names(others, names, os.fspath(donors))
    for name, position in zip(names, positions, strict=True):
        genome, other = summaries[0]["genomes"][name], summaries[1]["genomes"][others[position]]
        if genome["crc32"] != other["crc32"]:
            raise SeqmtlError(
                f"{donors} and {acceptors} must have the same genome of {name}; build both from "
                "one configuration, with --signal donor and --signal acceptor"
            )
    return names


def read_both(
    donors: PathLike, acceptors: PathLike, organism: str, split: str | None
) -> tuple[SplitGenome, SplitGenome]:
    """Read the regions that are in this split of both datasets, with the sites of each.

    Both have the genome of the donors, in whose buffer their coordinates are.

    Raises
    ------
    SeqmtlError
        If there are none.
    """
    first = read_split_genome(donors, organism, split)
    second = read_split_genome(acceptors, organism, split, genome=first.genome)
    rows = [
        (max(a, begin), min(b, end))
        for begin, end in first.regions.tolist()
        for a, b in second.regions.tolist()
        if a < end and b > begin
    ]
    if not rows:
        raise SeqmtlError(
            f"{donors} and {acceptors} have no region in common in split {split or 'all'!r} of "
            f"{organism}; build both with the same contigs under [organisms.{organism}.split]"
        )
    regions = np.array(rows, dtype=np.int64)
    return replace(first, regions=regions), replace(second, regions=regions)


def stretches(donors: SplitGenome, acceptors: SplitGenome) -> Iterator[Stretch]:
    """Yield each region of :func:`read_both` with the true sites of its strands."""
    sites = known_sites(donors, acceptors)
    for begin, end in donors.regions.tolist():
        strands = [
            (of_strand.places[of_strand.is_true], of_strand.is_donor[of_strand.is_true])
            for of_strand in (next(sites), next(sites))
        ]
        yield Stretch(donors.genome.codes[begin:end], strands)


def known_sites(donors: SplitGenome, acceptors: SplitGenome) -> Iterator[KnownSites]:
    """Yield the annotated sites of each region and strand of :func:`read_both`."""
    for begin, end in donors.regions.tolist():
        for is_reverse in (False, True):
            columns = []
            for held, is_donor in ((donors, True), (acceptors, False)):
                inside = (held.sites.starts >= begin) & (held.sites.starts < end)
                sites = held.sites.take(inside & (held.sites.is_reverse == is_reverse))
                places = sites.starts - begin + SITE_LENGTH * (is_donor == is_reverse)
                places = end - begin - places if is_reverse else places
                columns.append((places, np.full(len(sites), is_donor), sites["is_true"]))
            places, is_donor_, is_true = map(np.concatenate, zip(*columns, strict=True))
            order = np.lexsort([is_donor_, places])
            yield KnownSites(places[order], is_donor_[order], is_true[order])
