"""Read regions of a genome from BED: sorted, overlaps merged."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, source_name
from seqmtl.io._fields import bed_rows
from seqmtl.sequences.genome import unknown_contig
from seqmtl.sequences.intervals import merge_intervals


def read_regions(
    path: PathLike, lengths: Mapping[str, int]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Read intervals from the first three columns of BED.

    Parameters
    ----------
    path : path-like
        BED, plain, gzip or bgzip, sorted or not.
    lengths : mapping of str to int
        Length in bases of the genome's contigs.

    Returns
    -------
    dict of str to (starts, ends)
        Per contig int64 arrays, 0-based half-open, sorted; overlapping or adjacent intervals are
        merged.

    Raises
    ------
    InputFormatError
        If a line is not an interval inside a contig of the genome, or there is none; the message
        gives file and line.
    """
    name = source_name(path)
    found: dict[str, list[tuple[int, int]]] = {}
    for number, line in bed_rows(path):
        contig, start, end = _parse(line, name, number)
        _check(contig, start, end, lengths, name, number)
        found.setdefault(contig, []).append((start, end))
    if not found:
        raise InputFormatError("there must be intervals (BED), but there are none", path=name)
    merged = {contig: merge_intervals(np.array(rows)) for contig, rows in found.items()}
    return {contig: (rows[:, 0].copy(), rows[:, 1].copy()) for contig, rows in merged.items()}


def _parse(line: bytes, name: str, number: int) -> tuple[str, int, int]:
    fields = line.split(b"\t")
    try:
        return fields[0].decode(), int(fields[1]), int(fields[2])
    except (IndexError, ValueError):
        shown = line[:40].decode("utf-8", errors="replace")
        raise InputFormatError(
            f"a line must be contig, start and end between tabs (BED), got {shown!r}; correct it",
            path=name,
            line=number,
        ) from None


def _check(
    contig: str, start: int, end: int, lengths: Mapping[str, int], name: str, number: int
) -> None:
    if contig not in lengths:
        raise InputFormatError(unknown_contig([contig], list(lengths)), path=name, line=number)
    if not 0 <= start < end <= lengths[contig]:
        raise InputFormatError(
            f"an interval must lie inside {contig} (0-based half-open, {lengths[contig]} bases), "
            f"got {start}-{end}; correct its coordinates",
            path=name,
            line=number,
        )
