"""A table of the evidence for sites of genomes, by a paired model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seqmtl.exceptions import InputFormatError
from seqmtl.io import load_genome, read_sites
from seqmtl.splicing.contributions import explain_site
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.model import PairedModel

_NUMBERS = (
    "alone",
    "paired",
    "partner_alone",
    "site",
    "partner",
    "length",
    "upstream",
    "downstream",
    "rivals",
)
#: Columns of the table.
COLUMNS = ("organism", "contig", "start", "end", "strand", "signal", *_NUMBERS, "introns")


def explained_sites(
    model: PairedModel, genomes: Iterable[tuple[str, str, str]]
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table, in the order of the files.

    Parameters
    ----------
    model : PairedModel
        The model.
    genomes : iterable of (str, str, str)
        Organism, FASTA file of its genome, and file of the sites.

    Raises
    ------
    InputFormatError
        If a site is no candidate of the model.
    """
    for organism, fasta, path in genomes:
        finder = PairedFinder(model, organism)
        shares = [site_model.prevalence(organism) for site_model in (model.donor, model.acceptor)]
        length = finder.finders[0].scanner.site_length
        genome = load_genome(fasta, padding=length)
        sites = read_sites(path, genome, window=length, organism=organism, require_labels=False)
        numbers = genome.contigs.contig_of(sites.starts)
        starts = (sites.starts - genome.starts[numbers]).tolist()
        for number, start, is_reverse in zip(
            numbers.tolist(), starts, sites.is_reverse.tolist(), strict=True
        ):
            contig, strand = genome.names[number], "-" if is_reverse else "+"
            explanation = explain_site(
                finder, genome.contig(contig), start, is_reverse, (shares[0], shares[1])
            )
            if explanation is None:
                raise InputFormatError(
                    f"{contig}:{start}-{start + length}({strand}) is no candidate of "
                    f"{model.donor.site.letters} or {model.acceptor.site.letters} with a window on "
                    "the contig; give the two bases of a donor or an acceptor, with its strand",
                    path,
                )
            yield (
                organism,
                contig,
                str(start),
                str(start + length),
                strand,
                explanation.signal,
                *(_number(getattr(explanation, name)) for name in _NUMBERS),
                ",".join(f"{a}-{b}:{p:.4f}" for a, b, p in explanation.introns) or ".",
            )


def _number(value: float) -> str:
    return "." if value != value else f"{value:.3f}"
