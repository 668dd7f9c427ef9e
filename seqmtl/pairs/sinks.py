"""Files of a paired scan: splice scores of both signals in one file, and introns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from seqmtl.files.bgzip import BGZIP_END, bgzip, packer
from seqmtl.io.rows import check_first_field
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
    """One line per intron: BED12 with columns of probabilities, or GFF3.

    Introns are in the order of the genome, or the best first if their number is limited; those of
    equal probability, as written, in the order of the genome.

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
    top : int or None
        Largest number of introns.
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
        self.top = finder.filters.top
        if self.top is not None:
            self._what += f", the best {self.top} first"
        self._best: list[list[Any]] = []  # probability, line
        self._pack = packer(path)

    def begin(self, output: Output) -> None:
        """Write the header."""
        columns = (
            "#contig\tstart\tend\tname\tscore\tstrand\tthick_start\tthick_end\trgb\tblocks\t"
            "block_sizes\tblock_starts\tprobability\tdonor\tacceptor"
        )
        lines = ["##gff-version 3", self._what] if self.kind == "gff3" else [self._what, columns]
        output.write(self._pack("".join(f"{line}\n" for line in lines).encode()))

    def prepare(self, block: Block, strands: Any) -> list[list[Any]]:
        """Format a block; `strands` are the introns of :attr:`seqmtl.pairs.finder.Found`."""
        line = _gff_line if self.kind == "gff3" else _bed_line
        introns: Introns = strands
        check_first_field(block.piece.name)
        columns = (column.tolist() for column in introns)
        rows = list(zip(*columns, strict=True))
        if self.top is None:
            text = "".join(line(block.piece.name, *row) for row in rows)
            return [[len(rows), self._pack(text.encode())]] if rows else []
        best = sorted(rows, key=lambda row: -round(row[3], _DECIMALS))[: self.top]
        return [[round(row[3], _DECIMALS), line(block.piece.name, *row)] for row in best]

    def join(self, prepared: list[list[Any]], output: Output) -> None:
        """Write a block, or keep its introns if they may be among the best."""
        if self.top is not None:
            self._best = sorted(self._best + prepared, key=lambda row: -row[0])[: self.top]
            self.n_records = len(self._best)
            return
        for n, text in prepared:
            output.write(text)
            self.n_records += n

    def end(self, output: Output) -> None:
        """Write the best introns, and the end of a bgzip file."""
        if self._best:
            output.write(self._pack("".join(line for _, line in self._best).encode()))
        if self._pack is bgzip:
            output.write(BGZIP_END)

    def state(self) -> dict[str, Any]:
        """Return the state on which the next block depends."""
        return {**super().state(), "best": self._best}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state`."""
        super().restore(state)
        self._best = state["best"]


def _bed_line(contig: str, start: int, end: int, is_reverse: bool, *shares: float) -> str:
    strand = "-" if is_reverse else "+"
    shown = "\t".join(f"{p:.{_DECIMALS}f}" for p in shares)
    return (
        f"{contig}\t{start}\t{end}\tintron\t{round(1000 * shares[0])}\t{strand}\t{start}\t{start}\t"
        f"0\t1\t{end - start}\t0\t{shown}\n"
    )


def _gff_line(contig: str, start: int, end: int, is_reverse: bool, *shares: float) -> str:
    name, strand = quote(contig, safe=".:^*$@!+?-|"), "-" if is_reverse else "+"
    identity = f"{name}:{start + 1}-{end}:{strand}"
    p, donor, acceptor = (f"{share:.{_DECIMALS}f}" for share in shares)
    return (
        f"{name}\tseqmtl\tintron\t{start + 1}\t{end}\t{p}\t{strand}\t.\t"
        f"ID={identity};probability={p};donor={donor};acceptor={acceptor}\n"
    )
