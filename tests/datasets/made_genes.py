"""A made-up genome with coding genes whose exons, coding segments and sites are known."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tests.oracles.annotation import reverse_complement

LENGTHS = {"donor": 2, "acceptor": 2, "tss": 1, "polya": 1, "start": 3, "stop": 3}
_CODONS = ["GCT", "CAC", "GAA", "TTC", "CCG", "AAC"]


@dataclass(frozen=True)
class Gene:
    """Exons and coding segments are 0-based half-open, on the forward strand."""

    name: str
    contig: str
    strand: str
    exons: tuple
    cds: tuple

    @property
    def utrs(self):
        """Pieces of exons before and after the coding sequence, on the forward strand."""
        first, last = self.cds[0][0], self.cds[-1][1]
        before = [(a, min(b, first)) for a, b in self.exons if a < first]
        after = [(max(a, last), b) for a, b in self.exons if b > last]
        return before, after

    @property
    def introns(self):
        return [(a[1], b[0]) for a, b in pairwise(self.exons)]


def make_genes(seed=0, n_genes=8, n_contigs=2, utr_introns=False, stop_intron=None):
    """Return contigs as strings and genes on both strands; introns are GT-AG.

    The last intron is `stop_intron` bases before the end of the coding sequence, if given.
    """
    rng = np.random.default_rng(seed)
    contigs, genes = {}, []
    for number in range(n_contigs):
        name, text = f"ctg{number + 1}", _letters(rng, 300)
        for i in range(n_genes):
            gene = _gene(rng, f"G{number}_{i}", name, utr_introns, stop_intron)
            letters, own = gene
            if rng.integers(2):
                n = len(letters)
                letters = reverse_complement(letters)
                own = replace(
                    own,
                    strand="-",
                    exons=tuple((n - b, n - a) for a, b in reversed(own.exons)),
                    cds=tuple((n - b, n - a) for a, b in reversed(own.cds)),
                )
            genes.append(_moved(own, len(text)))
            text += letters + _letters(rng, int(rng.integers(150, 400)))
        contigs[name] = text
    return contigs, genes


def _letters(rng, n):
    return "".join(rng.choice(list("ACGT"), n))


def _moved(gene, by):
    exons = tuple((a + by, b + by) for a, b in gene.exons)
    return replace(gene, exons=exons, cds=tuple((a + by, b + by) for a, b in gene.cds))


def _gene(rng, name, contig, utr_introns, stop_intron):
    """Return letters and exons of a gene on the plus strand."""
    coding = "ATG" + "".join(rng.choice(_CODONS, int(rng.integers(30, 60)))) + "TAA"
    n_introns = int(rng.integers(1, 4))
    cuts = sorted(rng.choice(np.arange(8, len(coding) - 8, 7), n_introns, replace=False).tolist())
    if stop_intron is not None:
        cuts.append(len(coding) - stop_intron)
    bounds = [0, *cuts, len(coding)]
    pieces = [("cds", coding[a:b]) for a, b in pairwise(bounds)]
    for kind, place in (("5", 0), ("3", len(pieces) + 1)):
        pieces.insert(place, (kind, _letters(rng, int(rng.integers(20, 60)))))
    if utr_introns:
        pieces.insert(0, ("5", _letters(rng, 30)))
        pieces.append(("3", _letters(rng, 40)))
    text, exons, cds, before = "", [], [], None
    for kind, letters in pieces:
        is_new = before is not None and (before == kind)
        if is_new:
            text += "GT" + _letters(rng, int(rng.integers(40, 120))) + "AG"
        start, end = len(text), len(text) + len(letters)
        if before is not None and not is_new:
            exons[-1] = exons[-1][0], end
        else:
            exons.append((start, end))
        if kind == "cds":
            cds.append((start, end))
        text, before = text + letters, kind
    return text, Gene(name, contig, "+", tuple(exons), tuple(cds))


def sites(genes, signal):
    """Return the sites of a signal as (contig, first base, strand)."""
    found = set()
    for g in genes:
        is_plus = g.strand == "+"
        if signal in ("donor", "acceptor"):
            at_start = (signal == "donor") == is_plus
            starts = [a if at_start else b - 2 for a, b in g.introns]
        elif signal in ("tss", "polya"):
            at_start = (signal == "tss") == is_plus
            starts = [g.exons[0][0] if at_start else g.exons[-1][1] - 1]
        else:
            at_start = (signal == "start") == is_plus
            starts = [g.cds[0][0] if at_start else g.cds[-1][1] - 3] if g.cds else []
        found |= {(g.contig, start, g.strand) for start in starts}
    return found


def row(gene, kind, start, end, attributes, source="t", phase="."):
    """Return a row of GFF3 or GTF."""
    place = f"{start + 1}\t{end}\t.\t{gene.strand}\t{phase}"
    return f"{gene.contig}\t{source}\t{kind}\t{place}\t{attributes}\n"


def phases(gene):
    """Return the phase of each coding segment, by position."""
    done, found = 0, {}
    for a, b in gene.cds if gene.strand == "+" else reversed(gene.cds):
        found[a, b] = -done % 3
        done += b - a
    return [found[own] for own in gene.cds]


def gff3(gene, *, name=None, parent=None, more="", with_gene=True, cds=True):
    """Return the rows of a gene in GFF3; `more` are attributes of all of them."""
    name, parent = name or f"{gene.name}.1", parent or gene.name
    start, end = gene.exons[0][0], gene.exons[-1][1]
    text = row(gene, "gene", start, end, f"ID={parent}{more}") if with_gene else ""
    text += row(gene, "mRNA", start, end, f"ID={name};Parent={parent}{more}")
    for a, b in gene.exons:
        text += row(gene, "exon", a, b, f"Parent={name}{more}")
    for (a, b), phase in zip(gene.cds, phases(gene), strict=True):
        if cds:
            text += row(gene, "CDS", a, b, f"ID=c.{name};Parent={name}{more}", phase=phase)
    return text


def gtf(gene, *, name=None, more="", with_rows=True, bare=False, codons=False):
    """Return the rows of a gene in GTF, whose coding segments are without the stop codon.

    Rows of codons have three bases, even if an intron splits the codon.
    """
    name = name or f"{gene.name}.t1"
    start, end = gene.exons[0][0], gene.exons[-1][1]
    attributes = f'gene_id "{name[:-3]}"; transcript_id "{name}";{more}'
    text = ""
    if with_rows:
        text += row(gene, "gene", start, end, name[:-3] if bare else f'gene_id "{name[:-3]}";')
        text += row(gene, "transcript", start, end, name if bare else attributes)
    bases = [i for a, b in gene.cds for i in range(a, b)]
    is_plus = gene.strand == "+"
    begin, stop = (bases[0], bases[-3]) if is_plus else (bases[-1] - 2, bases[2] - 2)
    for (a, b), phase in zip(gene.cds, phases(gene), strict=True):
        a, b = (a, min(b, stop)) if is_plus else (max(a, stop + 3), b)
        text += row(gene, "CDS", a, b, attributes, phase=phase) if a < b else ""
    for a, b in gene.exons:
        text += row(gene, "exon", a, b, attributes)
    if codons:
        text += row(gene, "start_codon", begin, begin + 3, attributes)
        text += row(gene, "stop_codon", stop, stop + 3, attributes)
    return text


def bed12(gene, *, thick=None, name=None, score="0", more="", strand=None):
    """Return a row of BED12; `thick` is the coding part, of which None is that of the gene."""
    start, end = gene.exons[0][0], gene.exons[-1][1]
    first, last = thick or (gene.cds[0][0], gene.cds[-1][1])
    sizes = ",".join(str(b - a) for a, b in gene.exons)
    starts = ",".join(str(a - start) for a, _ in gene.exons)
    head = f"{gene.contig}\t{start}\t{end}\t{name or gene.name}\t{score}\t{strand or gene.strand}"
    return f"{head}\t{first}\t{last}\t0\t{len(gene.exons)}\t{sizes}\t{starts}{more}\n"
