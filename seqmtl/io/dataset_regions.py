"""Read the regions of a dataset's splits, and every annotated site in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, readable
from seqmtl.io.dataset import (
    REGIONS,
    REMEDY,
    SITES,
    check_genome,
    chosen_organisms,
    folder_of,
    genome_path,
    read_summary,
)
from seqmtl.io.genome import load_genome
from seqmtl.io.rows import Row
from seqmtl.sequences import Genome

#: First lines of regions.tsv and of sites.tsv.
REGIONS_HEADER = "#contig\tstart\tend\tsplit\torganism"
SITES_HEADER = "#contig\tstart\tend\tname\tscore\tstrand\torganism\tlabel"


@dataclass(frozen=True, eq=False)
class SplitGenome:
    """The genome of an organism, the regions of some splits, and its annotated sites.

    Attributes
    ----------
    genome : Genome
        All contigs, in one buffer.
    regions : ndarray of int64, shape (n, 2)
        Bounds of the regions in the buffer; increasing and disjoint.
    sites : ndarray of int64, shape (m,)
        First base of every annotated site, in the buffer on the forward strand.
    is_reverse : ndarray of bool, shape (m,)
        Whether a site is on the minus strand.
    is_true : ndarray of bool, shape (m,)
        Whether a site is a true site of the dataset; the others were excluded from it.
    """

    genome: Genome
    regions: NDArray[np.int64]
    sites: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    is_true: NDArray[np.bool_]


def read_split_genome(path: PathLike, organism: str, split: str | None = None) -> SplitGenome:
    """Read the regions of a split, and the annotated sites, of one organism of a dataset.

    Parameters
    ----------
    path : path-like
        Folder written by ``seqmtl dataset``, or the windows.tsv in it.
    organism : str
        Organism of the dataset.
    split : str, optional
        train, valid or test. Default: all regions.

    Raises
    ------
    InputFormatError
        If a file is missing or damaged; the message gives the file and the line.
    SeqmtlError
        If the genome is missing or differs from the one used to build the dataset.
    """
    summary, folder = read_summary(path), folder_of(path)
    organism = chosen_organisms(summary, organism)[0]
    place = genome_path(folder, organism, summary)
    genome = load_genome(place, padding=int(summary["window"]))
    check_genome(organism, place, genome, summary)
    lengths = dict(zip(genome.names, genome.lengths.tolist(), strict=True))

    def interval(row: Row) -> tuple[int, int]:
        contig, start, end = row.interval(lengths, REMEDY)
        begin = int(genome.starts[genome.index(contig)])
        return begin + start, begin + end

    regions = [
        interval(row)
        for row in _rows(os.path.join(folder, REGIONS), REGIONS_HEADER)
        if row.fields[4] == organism and split in (None, row.fields[3])
    ]
    sites = [
        (interval(row)[0], row.fields[5] == "-", row.fields[7] == "1")
        for row in _rows(os.path.join(folder, SITES), SITES_HEADER)
        if row.fields[6] == organism
    ]
    columns = np.array(sites, dtype=np.int64).reshape(-1, 3)
    return SplitGenome(
        genome,
        np.array(sorted(regions), dtype=np.int64).reshape(-1, 2),
        columns[:, 0],
        columns[:, 1] > 0,
        columns[:, 2] > 0,
    )


def _rows(source: str, header: str) -> Iterator[Row]:
    """Yield the rows of a file with this header."""
    if not os.path.exists(source):
        raise InputFormatError(
            "a dataset must have this file beside its windows, but it is missing "
            f"(earlier versions did not write it); {REMEDY}",
            source,
        )
    for line, text in numbered_lines(source):
        row = Row(source, line, readable(text).split("\t"))
        is_header = row.fields == header.split("\t")
        if is_header != (line == 1) or len(row.fields) != header.count("\t") + 1:
            row.refuse(f"a row must have the fields of {header!r}; {REMEDY}")
        if line > 1:
            yield row
