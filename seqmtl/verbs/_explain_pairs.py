"""``seqmtl explain`` with a model of both ends of introns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import write_lines
from seqmtl.io import load_genome, read_sites
from seqmtl.models.paired import PairedModel
from seqmtl.pairs import PairedFinder
from seqmtl.pairs.contributions import explain_site
from seqmtl.verbs._explain_folder import write_summary
from seqmtl.verbs._options import WindowInput
from seqmtl.verbs._windows import genomes_with_sites

_TABLE = "sites.tsv"
_NUMBERS = (
    "alone", "paired", "partner_alone", "site", "partner", "length", "upstream", "downstream",
    "rivals",
)  # fmt: skip
_COLUMNS = ("organism", "contig", "start", "end", "strand", "signal", *_NUMBERS, "introns")


def explain_pairs(
    model: PairedModel, path: str, source: WindowInput, folder: Path
) -> dict[str, Any]:
    """Write what contributes to the probabilities of sites; return the summary."""
    if source.data or not (source.genome and source.sites):
        raise SeqmtlError(
            "a model of seqmtl pair explains sites of a genome; give --genome and --sites, and no "
            "DATA"
        )
    rows = [_COLUMNS, *_rows(model, source)]
    write_lines(folder / _TABLE, ["\t".join(row) + "\n" for row in rows])
    return write_summary(folder, path, [_TABLE], {"n_sites": len(rows) - 1})


def _rows(model: PairedModel, source: WindowInput) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table, in the order of the files."""
    for organism, fasta, path in genomes_with_sites(source):
        finder = PairedFinder(model, organism)
        shares = [own.prevalence(own.match(organism)) for own in (model.donor, model.acceptor)]
        length = finder.finders[0].scanner.site_length
        genome = load_genome(fasta, padding=length)
        sites = read_sites(path, genome, window=length, organism=organism, require_labels=False)
        numbers = genome.contigs.contig_of(sites.starts)
        starts = (sites.starts - genome.starts[numbers]).tolist()
        for number, start, is_reverse in zip(
            numbers.tolist(), starts, sites.is_reverse.tolist(), strict=True
        ):
            contig, strand = genome.names[number], "-" if is_reverse else "+"
            found = explain_site(
                finder, genome.contig(contig), start, is_reverse, (shares[0], shares[1])
            )
            if found is None:
                raise SeqmtlError(
                    f"{path}: {contig}:{start}-{start + length}({strand}) is no candidate of "
                    f"{model.donor.site.letters} or {model.acceptor.site.letters} with a window on "
                    "the contig; give the two bases of a donor or an acceptor, with its strand"
                )
            yield (
                organism, contig, str(start), str(start + length), strand, found.signal,
                *(_number(getattr(found, name)) for name in _NUMBERS),
                ",".join(f"{a}-{b}:{p:.4f}" for a, b, p in found.introns) or ".",
            )  # fmt: skip


def _number(value: Any) -> str:
    return "." if value != value else f"{value:.3f}"
