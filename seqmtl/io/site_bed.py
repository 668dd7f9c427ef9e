"""Read sites from BED6 as positions."""

from __future__ import annotations

from typing import NamedTuple

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, readable, source_name
from seqmtl.io._fields import COORDINATES, bed_rows, is_coordinate

_N_FIELDS = 6


class BedSite(NamedTuple):
    """A BED6 row: contig, first base (0-based), strand, name and the 1-based line."""

    contig: str
    start: int
    is_reverse: bool
    name: str
    line: int


def read_site_bed(path: PathLike, *, length: int) -> list[BedSite]:
    """Read sites; scores are ignored.

    Parameters
    ----------
    path : path-like
        BED with six columns or more, plain, gzip or bgzip.
    length : int
        Required length of every interval in bases.

    Returns
    -------
    list of BedSite
        In the order of the file.

    Raises
    ------
    InputFormatError
        If a row is invalid or there is none; the message gives the line.
    """
    source = source_name(path)
    sites: list[BedSite] = []
    for line, row in bed_rows(path):
        try:
            sites.append(_site(readable(row).split("\t"), line, length))
        except ValueError as error:
            raise InputFormatError(str(error), path=source, line=line) from error
    if not sites:
        raise InputFormatError("a BED of sites must have rows, but it is empty", path=source)
    return sites


def _site(fields: list[str], line: int, length: int) -> BedSite:
    """Parse a row.

    Raises
    ------
    ValueError
        If it is invalid.
    """
    if len(fields) < _N_FIELDS:
        raise ValueError(
            f"BED must have at least six tab-separated columns, got {len(fields)}; add name, "
            "score and strand (+ or -)"
        )
    contig, start, end, name, _, strand = fields[:_N_FIELDS]
    if not (is_coordinate(start) and is_coordinate(end)):
        got = f"{start[:30]!r} and {end[:30]!r}"
        raise ValueError(f"start and end must be {COORDINATES}, got {got}; correct them")
    if int(end) - int(start) != length:
        raise ValueError(
            f"a site of this signal must have {length} base{'s' * (length > 1)}, "
            f"got {start}-{end}; give the interval of the site itself (0-based, half-open)"
        )
    if strand not in ("+", "-"):
        raise ValueError(f"strand must be + or -, got {strand!r}; give the strand of the site")
    return BedSite(contig, int(start), strand == "-", name, line)
