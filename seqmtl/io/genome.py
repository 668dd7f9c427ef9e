"""Read genomes from FASTA: into one encoded buffer, or contig by contig."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import is_first_time, is_level_logged
from seqmtl.files.streams import PathLike, source_name
from seqmtl.io.fasta import hold, scan_fasta, whole_records
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.genome import ContigTable, Genome, unknown_contig

logger = logging.getLogger(__name__)


def load_genome(path: PathLike, *, padding: int, only: Collection[str] | None = None) -> Genome:
    """Read a genome into one encoded buffer, one byte per base.

    Parameters
    ----------
    path : path-like
        FASTA, plain, gzip or bgzip, or ``"-"`` for standard input.
    padding : int
        Number of N codes before, between and after the contigs (at least 1), which limits how far
        windows may extend beyond a contig. The window length is always enough.
    only : collection of str, optional
        Contigs to keep. It is an error only if the file has none of them. Default: all.

    Raises
    ------
    InputFormatError
        If the file is not FASTA, or a contig has no name, no sequence or a repeated name.
    ValueError
        If the file has none of the contigs in `only`; the message names contigs of both.
    """
    return _load({"genome": path}, padding, only)["genome"]


def load_genomes(paths: Mapping[str, PathLike], *, padding: int) -> dict[str, Genome]:
    """Read several genomes into a shared buffer, so that their windows join without copying.

    Parameters
    ----------
    paths : mapping of str to path-like
        FASTA file of each genome, see :func:`load_genome`.
    padding : int
        See :func:`load_genome`.

    Returns
    -------
    dict of str to Genome
        In the order of `paths`.

    Raises
    ------
    InputFormatError
        See :func:`load_genome`.
    """
    return _load(paths, padding, None)


def _load(
    paths: Mapping[str, PathLike], padding: int, only: Collection[str] | None
) -> dict[str, Genome]:
    if padding < 0:
        raise ValueError(f"padding must be 0 or more, got {padding}; give the window length")
    padding = max(1, int(padding))
    gap = bytes([OTHER]) * padding
    buffer = bytearray(gap)
    tables = {name: _append(path, buffer, gap, only) for name, path in paths.items()}
    codes = np.frombuffer(buffer, dtype=np.uint8)
    locator = ContigTable(
        tuple(contig for table in tables.values() for contig in table.names),
        np.concatenate([table.starts for table in tables.values()]),
        np.concatenate([table.lengths for table in tables.values()]),
    ).window_names
    return {name: Genome(codes, table, padding, locator) for name, table in tables.items()}


def _append(
    path: PathLike, buffer: bytearray, gap: bytes, only: Collection[str] | None
) -> ContigTable:
    """Append the contigs of a file, all or only some, each followed by a gap."""
    names: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    other_names: list[str] = []
    for item in _scan(path, only):
        if isinstance(item, bytes):
            hold(buffer, item, path)
            ends[-1] = len(buffer)
        elif only is not None and item not in only:
            other_names.append(item)
        else:
            if names:
                buffer += gap
            names.append(item)
            starts.append(len(buffer))
            ends.append(len(buffer))
    if names:
        buffer += gap
    if only and not names:
        raise ValueError(unknown_contig(list(only), other_names))
    lengths = np.array(ends, dtype=np.int64) - starts
    table = ContigTable(tuple(names), np.array(starts, dtype=np.int64), lengths)
    count = f"{len(names)} of {len(names) + len(other_names)}" if other_names else str(len(names))
    summary = f"{source_name(path)}: {count} contigs, {table.lengths.sum()} bases"
    if is_level_logged(logging.INFO) and is_first_time(summary):
        logger.info("%s", summary)
    return table


class ContigPiece(NamedTuple):
    """A stretch of a contig, or several whole contigs with a letter N between them.

    Attributes
    ----------
    name : str
        Contig; the first of several.
    start : int
        0-based position of the first base in the contig.
    codes : ndarray of uint8
        Encoded bases.
    contigs : ContigTable, optional
        Where several contigs are among the codes. Default: there is one.
    """

    name: str
    start: int
    codes: NDArray[np.uint8]
    contigs: ContigTable | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the contigs."""
        return (self.name,) if self.contigs is None else self.contigs.names

    def located(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the contig number of each position, and the position on that contig."""
        if self.contigs is None:
            return np.zeros_like(positions), positions
        numbers = self.contigs.contig_of(positions)
        return numbers, positions - self.contigs.starts[numbers]

    def between(self, begin: int, end: int) -> ContigPiece:
        """Return the bases at begin..end-1 of the contig, as far as there are any; a view."""
        first, last = max(0, begin - self.start), max(0, end - self.start)
        return self._replace(start=self.start + first, codes=self.codes[first:last])


def read_contigs(
    path: PathLike,
    *,
    only: Collection[str] | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[ContigPiece]:
    """Yield the contigs of a genome one by one.

    Parameters
    ----------
    path : path-like
        FASTA, plain, gzip or bgzip, or ``"-"`` for standard input.
    only : collection of str, optional
        Contigs to read; the others have no bases. Default: all.
    on_read : callable, optional
        Called with the number of bytes read from the file since the last call.

    Raises
    ------
    InputFormatError
        See :func:`load_genome`.
    MemoryLimitError
        If a contig does not fit into memory.
    """
    for name, codes in whole_records(_scan(path, only, on_read), path):
        yield ContigPiece(name, 0, np.frombuffer(codes, dtype=np.uint8))


def contig_lengths(path: PathLike) -> dict[str, int]:
    """Return the length of every contig in bases, in the order of the file.

    Parameters
    ----------
    path : path-like
        FASTA, plain, gzip or bgzip.

    Raises
    ------
    InputFormatError
        See :func:`load_genome`.
    """
    lengths: dict[str, int] = {}
    name = ""
    for item in _scan(path):
        if isinstance(item, bytes):
            lengths[name] += len(item)
        else:
            name = item
            lengths[name] = 0
    return lengths


def _scan(
    path: PathLike,
    only: Collection[str] | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[str | bytes]:
    """Yield the name of each contig, followed by its codes in pieces if it is requested.

    A warning says, once, if most letters are no nucleotides.
    """
    n_letters = n_other = 0
    for item in _selected(path, only, on_read):
        if isinstance(item, bytes):
            n_letters += len(item)
            n_other += item.count(OTHER)
        yield item
    source = source_name(path)
    if (
        2 * n_other > n_letters
        and is_level_logged(logging.WARNING)
        and is_first_time(("letters", source))
    ):
        logger.warning(
            "%s: only %.0f %% of the letters are A, C, G or T; is it a nucleotide sequence?",
            source,
            100 * (1 - n_other / n_letters),
        )


def _selected(
    path: PathLike,
    only: Collection[str] | None,
    on_read: Callable[[int], None] | None,
) -> Iterator[str | bytes]:
    is_selected = False
    for item in scan_fasta(path, on_read=on_read):
        if not isinstance(item, bytes):
            name = item.fields[0]
            if not name:
                item.refuse("a contig must have a name, but its header is empty; name it")
            is_selected = only is None or name in only
            yield name
        elif is_selected:
            yield item
