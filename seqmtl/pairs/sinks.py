"""Files of a paired scan: splice scores of both signals in one file, and introns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from seqmtl.files.bgzip import BGZIP_END, bgzip, packer
from seqmtl.io._fields import check_first_field
from seqmtl.pairs.finder import Introns, PairedFinder
from seqmtl.scan.blocks import Block
from seqmtl.scan.sink import Output, Sink, Track
from seqmtl.scan.spsc import SpliceScoreSink

_DECIMALS = 5


class BothEndsSink(Sink):
    """Splice scores of donors and of acceptors, block by block, in one file.

    Parameters
    ----------
    path : str
        Final path of the file.
    parts : sequence of SpliceScoreSink
        The sinks of donors and of acceptors.
    """

    def __init__(self, path: str, parts: Sequence[SpliceScoreSink]) -> None:
        super().__init__(path, parts[0].finder, parts[0].probability, parts[0].track)
        self._parts = list(parts)

    def begin(self, output: Output) -> None:
        """Write the headers."""
        for part in self._parts:
            part.begin(output)

    def prepare(self, block: Block, strands: Any) -> list[Any]:
        """Format a block; `strands` are the sites of :attr:`seqmtl.pairs.finder.Found.ends`."""
        return [part.prepare(block, own) for part, own in zip(self._parts, strands, strict=True)]

    def join(self, prepared: list[Any], output: Output) -> None:
        """Write a block."""
        for part, own in zip(self._parts, prepared, strict=True):
            part.join(own, output)
        self.n_records = sum(part.n_records for part in self._parts)

    def end(self, output: Output) -> None:
        """Write the last lines."""
        for part in self._parts:
            part.end(output)

    def state(self) -> dict[str, Any]:
        """Return the state on which the next block depends."""
        return {**super().state(), "parts": [part.state() for part in self._parts]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state`."""
        super().restore(state)
        for part, own in zip(self._parts, state["parts"], strict=True):
            part.restore(own)


class IntronSink(Sink):
    """One line per intron: BED12 with a column of probabilities, or GFF3.

    Parameters
    ----------
    path : str
        Final path; GFF3 if it ends in .gff3 or .gff, before .gz.
    finder : PairedFinder
        What is scanned.

    Attributes
    ----------
    kind : {"bed", "gff3"}
        What the file is.
    """

    def __init__(self, path: str, finder: PairedFinder) -> None:
        own = finder.finders[0]
        super().__init__(path, own, None, Track(signal="intron"))
        is_gff = path.lower().removesuffix(".gz").endswith((".gff3", ".gff"))
        self.kind = "gff3" if is_gff else "bed"
        least = finder.filters.min_probability or 0.0
        self._what = (
            f"# seqmtl scan: introns of {finder.layer.shortest} to {finder.layer.longest} bases, "
            f"strands {finder.strands}, probability >= {least:g}"
        )
        self._pack = packer(path)

    def begin(self, output: Output) -> None:
        """Write the header."""
        columns = (
            "#contig\tstart\tend\tname\tscore\tstrand\tthick_start\tthick_end\trgb\tblocks\t"
            "block_sizes\tblock_starts\tprobability"
        )
        lines = ["##gff-version 3", self._what] if self.kind == "gff3" else [self._what, columns]
        output.write(self._pack("".join(f"{line}\n" for line in lines).encode()))

    def prepare(self, block: Block, strands: Any) -> tuple[bytes, int]:
        """Format a block; `strands` are the introns of :attr:`seqmtl.pairs.finder.Found`."""
        line = _gff_line if self.kind == "gff3" else _bed_line
        introns: Introns = strands
        check_first_field(block.piece.name)
        columns = (column.tolist() for column in introns)
        text = "".join(line(block.piece.name, *row) for row in zip(*columns, strict=True))
        return self._pack(text.encode()) if text else b"", introns.starts.size

    def join(self, prepared: tuple[bytes, int], output: Output) -> None:
        """Write a block."""
        output.write(prepared[0])
        self.n_records += prepared[1]

    def end(self, output: Output) -> None:
        """Write the end of a bgzip file."""
        if self._pack is bgzip:
            output.write(BGZIP_END)


def _bed_line(contig: str, start: int, end: int, is_reverse: bool, p: float) -> str:
    strand = "-" if is_reverse else "+"
    return (
        f"{contig}\t{start}\t{end}\tintron\t{round(1000 * p)}\t{strand}\t{start}\t{start}\t0\t1\t"
        f"{end - start}\t0\t{p:.{_DECIMALS}f}\n"
    )


def _gff_line(contig: str, start: int, end: int, is_reverse: bool, p: float) -> str:
    name, strand = quote(contig, safe=".:^*$@!+?-|"), "-" if is_reverse else "+"
    identity = f"{name}:{start + 1}-{end}:{strand}"
    return (
        f"{name}\tseqmtl\tintron\t{start + 1}\t{end}\t{p:.{_DECIMALS}f}\t{strand}\t.\t"
        f"ID={identity};probability={p:.{_DECIMALS}f}\n"
    )
