"""Annotations as programs of the field write them, on made-up genes: which sites are read.

Where a dataset is written, every candidate is drawn as a decoy, so that none may be a site.
"""

import json
import re
from dataclasses import replace

import pytest

from seqmtl.datasets import read_config, write_dataset
from seqmtl.datasets.build import read_sites
from seqmtl.datasets.true_sites import SiteResolver
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import read_annotation
from tests.datasets.made_genes import LENGTHS, bed12, gff3, gtf, make_genes, phases, row, sites
from tests.invocation import rows_of

WINDOW = 31
CONTIGS, GENES = make_genes(3)
UTR_CONTIGS, UTR_GENES = make_genes(4, utr_introns=True)
OTHERS = [gene for i, gene in enumerate(GENES) if i % 3]
SPLICE = ("donor", "acceptor")
ENDS = ("tss", "polya")
CODONS = ("start", "stop")
ALL = (*SPLICE, *ENDS, *CODONS)


def write_config(folder, text, *, name="a.gff3", key="annotation", contigs=CONTIGS, more=""):
    """Write a genome, a file of its sites, and a configuration; return the path of the latter."""
    (folder / "g.fa").write_text("".join(f">{n}\n{s}\n" for n, s in contigs.items()))
    (folder / name).write_text(text)
    (folder / "c.toml").write_text(
        f'signal = "donor"\nwindow = {WINDOW}\n[decoys]\nratio = 100000\nclearance = 1\n'
        f'[split]\nvalid = 0\ntest = 0\n[organisms.o]\ngenome = "g.fa"\n{key} = "{name}"\n{more}'
    )
    return folder / "c.toml"


def build(folder, text, signal, **options):
    """Return true sites, all sites of which decoys keep away, and decoys of a dataset."""
    config = read_config(write_config(folder, text, **options), signal=signal)
    write_dataset(config, folder / "out")
    summary = json.loads((folder / "out" / "summary.json").read_text())
    offset, length = summary["site"]["offset"], LENGTHS[signal]
    windows = {1: set(), -1: set()}
    for f in rows_of(folder / "out" / "windows.tsv"):
        start = int(f[1]) + offset if f[5] == "+" else int(f[2]) - offset - length
        windows[int(f[7])].add((f[0], start, f[5]))
    known = {(f[0], int(f[1]), f[5]) for f in rows_of(folder / "out" / "sites.tsv")}
    return windows[1], known, windows[-1]


def find(folder, text, signals, **options):
    """Yield signals, their true sites, and all sites of which decoys keep away."""
    path = write_config(folder, text, **options)
    for signal in signals:
        config = read_config(path, signal=signal)
        genome, annotated, uncertain, _ = read_sites(config, "o", config.organisms["o"])
        resolver = SiteResolver("o", "a", genome, config.site, config.window)
        found = resolver.find(annotated, uncertain=uncertain)
        yield signal, *(_places(some, genome) for some in (found.sites, found.all_sites))


def _places(found, genome):
    contigs = genome.contigs.contig_of(found.starts)
    names = [genome.names[i] for i in contigs.tolist()]
    strands = ["+-"[i] for i in found.is_reverse.astype(int).tolist()]
    return {*zip(names, (found.starts - genome.starts[contigs]).tolist(), strands, strict=True)}


def check(folder, text, signals, *, true=None, genes=GENES, **options):
    """Check that the true sites are those of some genes, and that decoys keep away from all."""
    true = genes if true is None else true
    for signal, found, known in find(folder, text, signals, **options):
        assert found == sites(true, signal), signal
        assert sites(genes, signal) <= known, signal


def check_dataset(folder, text, signal, *, true):
    """Check the same of a dataset, and that no site of any gene is a decoy of it."""
    found, known, decoys = build(folder, text, signal)
    assert found == sites(true, signal)
    assert sites(GENES, signal) <= known
    assert decoys
    assert not sites(GENES, signal) & decoys


def _span(gene):
    return gene.exons[0][0], gene.exons[-1][1]


def _of_gtf(gene):
    return f'gene_id "{gene.name}"; transcript_id "{gene.name}.t1";'


def _every_third(write, other=gff3):
    """Return rows of genes, of which every third is written by a function of its own."""
    return "".join((other if i % 3 else write)(gene) for i, gene in enumerate(GENES))


# ---- files that have the sites of all genes


def _utrs(gene, kinds, line):
    """Return rows of UTRs; `kinds` are the types of those at the 5' and the 3' end."""
    ends = gene.utrs if gene.strand == "+" else gene.utrs[::-1]
    return "".join(
        line(kind, a, b) for kind, parts in zip(kinds, ends, strict=True) for a, b in parts
    )


def _utrs_outside(gene, *, exon="exon", kinds=("five_prime_UTR", "three_prime_UTR"), with_cds=True):
    """Exon rows have the coding part alone (transdecoder, Tiberius)."""

    def line(kind, a, b):
        return row(gene, kind, a, b, f"Parent={gene.name}.1")

    text = row(gene, "mRNA", *_span(gene), f"ID={gene.name}.1;Parent={gene.name}")
    text += "".join(line(exon, a, b) for a, b in gene.cds if exon)
    text += _utrs(gene, kinds, line)
    return text + "".join(line("CDS", a, b) for a, b in gene.cds if with_cds)


def _utrs_of_gtf(gene):
    def line(kind, a, b):
        return row(gene, kind, a, b, _of_gtf(gene))

    return "".join(line("exon", a, b) for a, b in gene.cds) + _utrs(gene, ("5UTR", "3UTR"), line)


UTRS = {
    "exons are the coding part": _utrs_outside,
    "coding_exon": lambda gene: _utrs_outside(gene, exon="coding_exon", with_cds=False),
    "other names": lambda gene: _utrs_outside(gene, kinds=("5'-UTR", "UTR_3")),
    "no exons": lambda gene: _utrs_outside(gene, exon=""),
    "GTF": _utrs_of_gtf,
}


@pytest.mark.parametrize("case", UTRS)
def test_exons_are_the_union_of_all_rows_of_a_transcript(tmp_path, case):
    text = "".join(map(UTRS[case], UTR_GENES))
    check(tmp_path, text, (*SPLICE, *ENDS), genes=UTR_GENES, contigs=UTR_CONTIGS)


def _utr_beside_its_exon(gene):
    start, first = gene.exons[0][0], gene.exons[0][0] + 10
    text = row(gene, "mRNA", *_span(gene), f"ID={gene.name}")
    text += row(gene, "UTR", start, first, f"Parent={gene.name}")
    exons = [(first, gene.exons[0][1]), *gene.exons[1:]]
    return text + "".join(row(gene, "exon", a, b, f"Parent={gene.name}") for a, b in exons)


def _stop_codon_outside(gene):
    """Exon and CDS rows lack the stop codon, which a row of its own and UTR rows follow."""

    def line(kind, a, b):
        return row(gene, kind, a, b, _of_gtf(gene), phase="0")

    is_plus = gene.strand == "+"
    last = gene.cds[-1][1] - 3 if is_plus else gene.cds[-1][1]
    first = gene.cds[0][0] if is_plus else gene.cds[0][0] + 3
    coding = [(max(a, first), min(b, last)) for a, b in gene.cds]
    text = "".join(line(kind, a, b) for kind in ("exon", "CDS") for a, b in coding)
    text += line("stop_codon", *((last, last + 3) if is_plus else (first - 3, first)))
    return text + _utrs(gene, ("5UTR", "3UTR"), line)


def _without_stop_codon(gene):
    """Rows of exons and CDS that end before the stop codon, of which there is no row."""
    coding = _stop_codon_outside(gene).splitlines(keepends=True)
    return "".join(line for line in coding if "\texon\t" in line or "\tCDS\t" in line)


def _codon_into_an_intron(gene):
    """Three bases from the first of a codon that an intron splits, as some programs write it."""
    end = gene.exons[0][1]
    return gtf(gene) + row(gene, "start_codon", end - 1, end + 2, _of_gtf(gene))


def _exons_of_snap(gene):
    """Types of exons of gene finders are coding segments: Einit, Exon, Eterm and Esngl."""
    kinds = ["Exon"] * len(gene.cds)
    kinds[:: len(kinds) - 1] = ["Einit", "Eterm"] if gene.strand == "+" else ["Eterm", "Einit"]
    rows = zip(kinds, gene.cds, strict=True)
    return "".join(row(gene, kind, a, b, _of_gtf(gene)) for kind, (a, b) in rows)


def _in_parts(gene, of_gene):
    """Some types of rows have the gene as their parent, the others its transcript."""
    to_gene = f"Parent={gene.name}.1", f"Parent={gene.name}"
    return "".join(
        line.replace(*to_gene) if line.split("\t")[2] in of_gene else line
        for line in gff3(gene).splitlines(keepends=True)
    )


def _embl(gene):
    """The transcript has one exon from end to end, the gene the coding segments (EMBL, ENA)."""
    whole = gff3(replace(gene, exons=(_span(gene),)), cds=False)
    return whole + "".join(
        row(gene, "CDS", a, b, f"ID=cds-{gene.name};Parent={gene.name}", phase=phase)
        for (a, b), phase in zip(gene.cds, phases(gene), strict=True)
    )


def _jgi(gene):
    """Rows of one transcript share a name alone."""
    name = f'name "fgenesh1_pg.{gene.name}"'
    text = "".join(row(gene, "exon", a, b, f"{name}; transcriptId 181") for a, b in gene.exons)
    return text + "".join(
        row(gene, "CDS", a, b, f"{name}; proteinId 7; exonNumber 1") for a, b in gene.cds
    )


def _hints():
    introns = ((gene, a, b) for gene in GENES for a, b in gene.introns)
    return "".join(row(gene, "intron", a, b, "mult=5;pri=4;src=E", "b2h") for gene, a, b in introns)


WRITTEN = {
    "a UTR touches an exon": (_utr_beside_its_exon, (*SPLICE, *ENDS)),
    "the stop codon is beyond the coding exons": (_stop_codon_outside, ALL),
    "codons without CDS": (
        lambda gene: "".join(
            line for line in gtf(gene, codons=True).splitlines(True) if "\tCDS\t" not in line
        ),
        CODONS,
    ),
    "the stop codon is beyond all rows": (_without_stop_codon, (*SPLICE, *CODONS)),
    "a codon reaches into an intron": (_codon_into_an_intron, SPLICE[:1]),
    "SNAP": (_exons_of_snap, (*SPLICE, "start")),
    "tabs among the attributes": (lambda gene: gff3(gene, more="\t5_prime_partial true"), ALL),
    "columns after the attributes": (lambda gene: gff3(gene).replace("\n", "\t12\t0.5\n"), ALL),
    "columns after those of GTF": (lambda gene: gtf(gene).replace("\n", "\t12\t0.5\n"), ALL),
    "names of attributes in lower case": (
        lambda gene: gff3(gene).replace("ID=", "id=").replace("Parent=", "parent="),
        ALL,
    ),
    "Parent in upper case": (lambda gene: gff3(gene).replace("Parent=", "PARENT="), ALL),
    "blanks around the equals sign": (lambda gene: gff3(gene).replace("=", " = "), ALL),
    "blanks around types": (lambda gene: gff3(gene).replace("CDS\t", "CDS \t"), ALL),
    "an empty name among the parents": (
        lambda gene: gff3(gene).replace(f"={gene.name}.1\n", f'={gene.name}.1,""\n'),
        ALL,
    ),
    "CDS of the gene": (lambda gene: _in_parts(gene, {"CDS"}), ALL),
    "exons of the gene": (lambda gene: _in_parts(gene, {"exon"}), ALL),
    "EMBL": (_embl, ALL),
    "JGI": (_jgi, ALL),
    "rtracklayer": (lambda gene: re.sub(r"(ID|Parent)=([^;\n]+)", r'\1 "\2"', gff3(gene)), ALL),
    "LiftOn": (
        lambda gene: (
            row(gene, "gene", *_span(gene), f"ID={gene.name};source=Liftoff")
            + gff3(gene, with_gene=False)
        ),
        ALL,
    ),
    "hints before the genes (AUGUSTUS)": (
        lambda gene: _hints() * (gene is GENES[0]) + gtf(gene),
        ALL,
    ),
    "CR as line ends": (lambda gene: gff3(gene).replace("\n", "\r"), ALL),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_rows_are_read_as_programs_and_databases_write_them(tmp_path, case):
    write, signals = WRITTEN[case]
    check(tmp_path, "".join(map(write, GENES)), signals)


def test_gaps_of_frameshifts_are_no_introns_of_other_letters(tmp_path):
    text = ""
    for gene in GENES:
        parts = [part for a, b in gene.exons for part in ((a, a + 4), (a + 6, b))]
        text += gff3(replace(gene, exons=tuple(parts)), cds=False)
    check_dataset(tmp_path, text, "donor", true=GENES)


def test_a_file_of_introns_is_one_of_junctions(tmp_path):
    with pytest.raises(InputFormatError, match=r"only intron .* junctions instead of annotation"):
        list(find(tmp_path, _hints(), SPLICE))


MIXED = {
    "GFF3 first": lambda i: gff3 if i < len(GENES) // 2 else gtf,
    "GTF first": lambda i: gtf if i < len(GENES) // 2 else gff3,
    "in turn": lambda i: (gff3, gtf)[i % 2],
}


@pytest.mark.parametrize("case", MIXED)
def test_gff3_and_gtf_in_one_file_are_told_by_row(tmp_path, case):
    check(tmp_path, "".join(MIXED[case](i)(gene) for i, gene in enumerate(GENES)), ALL)


@pytest.mark.parametrize("codons", [False, True])
@pytest.mark.parametrize("n_bases", [1, 2, 3])
def test_a_stop_codon_may_lie_behind_an_intron_or_be_split_by_one(tmp_path, n_bases, codons):
    """GTF whose coding sequence lacks the stop codon, with and without rows of codons.

    Of a split codon, three bases in a row may read as one: TA and G, with which the intron begins.
    """
    contigs, genes = make_genes(6, stop_intron=n_bases)
    text = "".join(gtf(gene, codons=codons) for gene in genes)
    genes = genes if n_bases == 3 else []
    check(tmp_path, text, ["stop"], genes=genes, contigs=contigs, name="a.gtf")


# ---- which rows are one transcript


def _with_one_id(names):
    """Return the name of the transcript by gene: those of a set get one."""
    return {gene.name: "same.t1" if gene.name in names else f"{gene.name}.t1" for gene in GENES}


ON_PLUS = [gene.name for gene in GENES if (gene.contig, gene.strand) == ("ctg1", "+")]
ON_MINUS = [gene.name for gene in GENES if (gene.contig, gene.strand) == ("ctg1", "-")]
REPEATED = {
    "two contigs": {"G0_1", "G1_2"},
    "two strands": {ON_PLUS[0], ON_MINUS[0]},
    "far apart": {ON_PLUS[0], ON_PLUS[-1]},
}


@pytest.mark.parametrize("case", REPEATED)
@pytest.mark.parametrize(
    "options",
    [{}, {"bare": True}, {"codons": True, "with_rows": False}],
    ids=["rows", "AUGUSTUS", "codons alone"],
)
def test_one_id_in_two_places_is_two_transcripts_of_gtf(tmp_path, case, options, caplog):
    names = _with_one_id(REPEATED[case])
    text = "".join(gtf(gene, name=names[gene.name], **options) for gene in GENES)
    true, told = GENES, "transcripts with one ID are told apart (1 IDs); such as same.t1 on ctg1"
    if options.get("codons") and case == "far apart":  # on one strand, without rows of their own
        true = [gene for gene in GENES if gene.name not in REPEATED[case]]
        told = "several transcripts with one ID (1); such as same.t1 (line 1)"
    check(tmp_path, text, (*SPLICE, *ENDS, "start"), name="a.gtf", true=true)
    assert told in caplog.text


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("write", [gff3, gtf])
def test_rows_written_twice_are_one_transcript(tmp_path, write, is_sorted):
    """Files of overlapping regions put together, and sorted."""
    lines = "".join(map(write, GENES)).splitlines(keepends=True) * 2
    if is_sorted:
        lines.sort(key=lambda line: (line.split("\t")[0], int(line.split("\t")[3])))
    check(tmp_path, "".join(lines), ALL)


SELF = {
    "no gene": lambda gene: gff3(gene, name=gene.name, with_gene=False),
    "gene before": lambda gene: gff3(gene, name=gene.name),
    "gene after": lambda gene: (
        gff3(gene, name=gene.name, with_gene=False)
        + row(gene, "gene", *_span(gene), f"ID={gene.name}")
    ),
    "two isoforms": lambda gene: (
        gff3(gene, name=gene.name) + gff3(gene, name=f"{gene.name}.2", with_gene=False)
    ),
}


@pytest.mark.parametrize("case", SELF)
def test_a_parent_of_the_same_name_is_the_gene(tmp_path, case):
    check(tmp_path, _every_third(SELF[case]), (*SPLICE, "tss", "start"))


# ---- sites without their letters


def _moved_starts(text, column, by):
    rows = (line.split("\t") for line in text.splitlines())
    moved = ([*f[:column], str(int(f[column]) + by), *f[column + 1 :]] for f in rows)
    return "".join("\t".join(f) + "\n" for f in moved)


OFF_BY_ONE = {
    "GFF that counts from 0": _moved_starts("".join(map(gff3, GENES)), 3, -1),
    "BED that counts from 1": "".join(
        bed12(replace(g, exons=tuple((a + 1, b) for a, b in g.exons))) for g in GENES
    ),
}


@pytest.mark.parametrize("signal", ["donor", "acceptor", "tss", "stop"])
@pytest.mark.parametrize("case", OFF_BY_ONE)
def test_coordinates_off_by_one_are_told(tmp_path, case, signal, caplog):
    """On one strand, donors are where they should be, on the other acceptors."""
    told = r"most introns must be GT-AG, GC-AG or AT-AC, got 0 of 38; check .* as 1 in GFF and as 0"
    if signal in SPLICE:
        with pytest.raises(InputFormatError, match=told):
            build(tmp_path, OFF_BY_ONE[case], signal)
    else:
        build(tmp_path, OFF_BY_ONE[case], signal)
        assert re.search(told, caplog.text)


@pytest.mark.parametrize(("key", "seed"), [("annotation", 14), ("sites", 13)])
def test_sites_of_one_strand_that_are_elsewhere_are_told(tmp_path, key, seed):
    """Start codons of genes without introns, and sites of which only the plus strand is right.

    By the seeds, a little more than half of all sites are right.
    """
    contigs, genes = make_genes(seed, n_genes=40)
    if key == "annotation":
        first = {"+": slice(1), "-": slice(-1, None)}
        text = "".join(
            gff3(replace(g, exons=(_span(g),), cds=g.cds[first[g.strand]])) for g in genes
        )
        text = _moved_starts(text, 3, -1)
        signal, told = "start", "most start sites of the plus strand must be ATG, got"
    else:
        rows = [(g.contig, a, g.strand) for g in genes for a, _ in g.introns]
        text = "".join(f"{contig}\t{a}\t{a + 2}\tx\t0\t{s}\n" for contig, a, s in rows)
        signal, told = "donor", "most donor sites of the minus strand must be GT, got"
    with pytest.raises(InputFormatError, match=told):
        build(tmp_path, text, signal, name="s.bed", key=key, contigs=contigs)


@pytest.mark.parametrize("signal", ["donor", "acceptor", "start"])
def test_a_warning_tells_if_a_quarter_of_the_sites_lack_their_letters(tmp_path, signal, caplog):
    """All genes on the plus strand, as of a file that had no strands."""
    contigs, genes = make_genes(13, n_genes=40)
    text = "".join(gff3(replace(g, strand="+")) for g in genes)
    every = sites(genes, signal)
    ((_, true, _),) = find(tmp_path, text, [signal], contigs=contigs)
    assert len(true & every) < 0.75 * len(every)
    assert re.search(rf"a: \d+ of {len(every)} {signal} sites are left out, as they", caplog.text)


# ---- genes that are left out, and whose sites are no decoys either

TRANS = "exception=trans-splicing"
SEVERAL_RNAS = "transcript of several RNAs"


def _cds_of_gene(gene, of_gene="", of_cds=""):
    return row(gene, "gene", *_span(gene), f"ID=gene-{gene.name}{of_gene}") + "".join(
        row(gene, "CDS", a, b, f"ID=cds-{gene.name};Parent=gene-{gene.name}{of_cds}", phase="0")
        for a, b in gene.cds
    )


def _without_strand(text):
    fields = [line.split("\t") for line in text.splitlines()]
    return "".join("\t".join([*f[:6], ".", *f[7:]]) + "\n" for f in fields)


def _on_two_strands(gene):
    """Return a transcript of one row with an exon on the other strand."""
    other = replace(gene, strand="+-"["-+".index(gene.strand)])
    end = gene.exons[-1][1]
    return gff3(gene) + row(other, "exon", end + 20, end + 40, f"Parent={gene.name}.1")


def _of_gene(gene):
    """Return exons of a gene that has another transcript."""
    a, b = gene.exons[0][0] - 20, gene.exons[0][0] - 10
    text = row(gene, "gene", a, gene.exons[-1][1], f"ID={gene.name}")
    text += row(gene, "mRNA", a, b, f"ID={gene.name}.m;Parent={gene.name}")
    text += row(gene, "exon", a, b, f"Parent={gene.name}.m")
    return text + "".join(row(gene, "exon", *exon, f"Parent={gene.name}") for exon in gene.exons)


def _inside(gene):
    """Return a spliced piece of a longer transcript."""
    start, end = gene.exons[0][0] - 50, gene.exons[-1][1] + 20
    text = row(gene, "primary_transcript", start, end, f"ID={gene.name}.p")
    text += row(gene, "exon", start, end, f"Parent={gene.name}.p")
    return text + gff3(gene, parent=f"{gene.name}.p", with_gene=False)


def _introns_in_utrs(gene):
    """Return a transcript whose introns in UTRs have rows, but whose UTRs have none (SGD)."""
    start, end = _span(gene)
    text = row(gene, "mRNA", start, end, f"ID={gene.name}.1")
    text += row(gene, "CDS", end - 12, end, f"ID=c{start};Parent={gene.name}.1", phase="0")
    kind = "five_prime_UTR_intron"
    return text + "".join(row(gene, kind, a, b, f"Parent={gene.name}.1") for a, b in gene.introns)


def _cds_without_strand(gene):
    """CDS rows of GTF alone, without a strand: the stop codon is behind the last one."""
    lines = gtf(gene, with_rows=False).splitlines(keepends=True)
    return _without_strand("".join(line for line in lines if "\tCDS\t" in line))


def _utrs_alone(gene):
    """UTRs whose parent is written in another way than that of the exons."""

    def line(kind, a, b):
        return row(gene, kind, a, b, f"Parent={gene.name}.other")

    return _utrs(gene, ("five_prime_UTR", "three_prime_UTR"), line)


OF_CODING = (*SPLICE, *CODONS)
NO_STRAND = "transcript without a strand"
#: How the genes are written, signals, and the reason, if they are left out by the reader.
EXCLUDED = {
    "CDS of several RNAs": (lambda g: _cds_of_gene(g, "", f";{TRANS}"), OF_CODING, SEVERAL_RNAS),
    "gene of several RNAs": (
        lambda g: _cds_of_gene(g, f";{TRANS};part=1"),
        OF_CODING,
        SEVERAL_RNAS,
    ),
    "gene in parts": (lambda g: _cds_of_gene(g, ";part=1/2"), OF_CODING, "transcript in parts"),
    "mRNA of several RNAs": (lambda g: gff3(g, more=f";{TRANS}"), OF_CODING, SEVERAL_RNAS),
    "flag": (lambda g: gff3(g, more=";trans_splicing=true"), OF_CODING, SEVERAL_RNAS),
    "GTF": (
        lambda g: gtf(g, more=' exception "trans-splicing"; part "1/2";'),
        OF_CODING,
        SEVERAL_RNAS,
    ),
    "no strand": (lambda g: _without_strand(gff3(g)), ALL, NO_STRAND),
    "no strand in GTF": (lambda g: _without_strand(gtf(g)), ALL, NO_STRAND),
    "no strand of CDS alone": (_cds_without_strand, ["stop"], NO_STRAND),
    "two strands": (_on_two_strands, SPLICE, "transcript with exons outside its own row"),
    "of a gene": (_of_gene, SPLICE, "exons that belong to a gene"),
    "inside": (_inside, SPLICE, "part of a longer transcript"),
    "UTRs alone": (_utrs_alone, ENDS, "transcript of codons or UTRs whose exons"),
    "other source": (lambda g: gff3(g).replace("\tt\t", "\tother\t"), ALL, None),
    "rows of introns": (_introns_in_utrs, SPLICE, None),
    "codons of pseudogenes": (lambda g: gff3(g, more=";pseudo=true"), CODONS, None),
    "codons of biotypes": (
        lambda g: gff3(g, more=";gene_biotype=transcribed_pseudogene"),
        CODONS,
        None,
    ),
}


@pytest.mark.parametrize("case", EXCLUDED)
def test_what_is_left_out_is_never_a_decoy(tmp_path, case):
    write, signals, reason = EXCLUDED[case]
    more = 'sources = ["t"]' if case == "other source" else ""
    text = _every_third(write, gtf if "GTF" in case else gff3)
    check(tmp_path, text, signals, true=OTHERS, more=more)
    if reason:
        reasons = {left.reason for left in read_annotation(tmp_path / "a.gff3").exclusions}
        assert any(one.startswith(reason) for one in reasons)


def test_datasets_have_no_decoy_at_what_is_left_out(tmp_path):
    text = _every_third(lambda gene: _without_strand(gff3(gene)))
    check_dataset(tmp_path, text, "donor", true=OTHERS)
    excluded = rows_of(tmp_path / "out" / "excluded.tsv")
    assert sum(NO_STRAND in fields[6] for fields in excluded) == len(GENES) - len(OTHERS)


def test_bed12_without_a_strand_is_left_out_and_no_decoy(tmp_path):
    text = _every_third(lambda gene: bed12(gene, strand="."), bed12)
    check(tmp_path, text, (*SPLICE, *ENDS), true=OTHERS, name="a.bed")


@pytest.mark.parametrize("signal", ALL)
def test_sites_beyond_the_end_of_a_circular_contig_are_no_decoys(tmp_path, signal):
    """GFF3 of NCBI counts on from the origin for genes over it, in organelles and bacteria."""
    length = len(CONTIGS["ctg1"])
    over = GENES[3]
    origin = sum(_span(over)) // 2
    contigs = CONTIGS | {"ctg1": CONTIGS["ctg1"][origin:] + CONTIGS["ctg1"][:origin]}

    def turned(gene):
        by = 0 if gene.contig == "ctg2" else length if gene.exons[0][0] < origin else 0
        by -= origin * (gene.contig == "ctg1")
        exons, cds = (tuple((a + by, b + by) for a, b in own) for own in (gene.exons, gene.cds))
        return replace(gene, exons=exons, cds=cds)

    genes = [*map(turned, GENES)]
    every = {(n, start % len(contigs[n]), strand) for n, start, strand in sites(genes, signal)}
    inside = {site for site in sites(genes, signal) if site[1] < len(contigs[site[0]])}
    text = "".join(map(gff3, genes))
    ((_, true, known),) = find(tmp_path, text, [signal], contigs=contigs)
    assert true <= inside
    assert len(inside - true) <= 2  # of which the window is over an end
    assert every <= known


# ---- types of transcripts


def _typed(gene, *, gene_kind="gene", of_gene="", kind="transcript", more="", exon="exon"):
    """Return rows of a gene without a coding sequence in GFF3, whose types are as given."""
    start, end = _span(gene)
    parent = f"{gene.name}.1" if kind else gene.name
    text = row(gene, gene_kind, start, end, f"ID={gene.name}{of_gene}")
    if kind:
        text += row(gene, kind, start, end, f"ID={parent};Parent={gene.name}{more}")
    return text + "".join(row(gene, exon, a, b, f"Parent={parent}{more}") for a, b in gene.exons)


def _typed_gtf(gene, *, of_gene="", kind="transcript", more="", name=None):
    """Return such rows of GTF."""
    start, end = _span(gene)
    attributes = f'gene_id "{name or gene.name}"; transcript_id "{name or gene.name}.1";{more}'
    text = row(gene, "gene", start, end, f'gene_id "{name or gene.name}";{of_gene}')
    text += row(gene, kind, start, end, attributes) if kind else ""
    return text + "".join(row(gene, "exon", a, b, attributes) for a, b in gene.exons)


def _both(name, **options):
    """Return attributes of type as GENCODE and Ensembl write them on all rows."""
    return {**options, "of_gene": name, "more": name}


PSEUDO = ";gene_biotype=pseudogene;pseudo=true"
PSEUDOGENES = {
    "NCBI": {"gene_kind": "pseudogene", "of_gene": PSEUDO, "kind": "", "more": ";pseudo=true"},
    "NCBI, gene": {"of_gene": PSEUDO, "kind": ""},
    "NCBI, transcribed": {"gene_kind": "pseudogene", "more": ";gbkey=misc_RNA;pseudo=true"},
    "NCBI, of a type": {"of_gene": ";pseudogene=unprocessed", "kind": "mRNA"},
    "TAIR": {
        "gene_kind": "pseudogene",
        "kind": "pseudogenic_transcript",
        "exon": "pseudogenic_exon",
    },
    "WormBase": {"of_gene": ";biotype=pseudogene", "kind": "pseudogenic_tRNA"},
    "FlyBase": {"kind": "pseudogene"},
    "VEuPathDB": {"gene_kind": "pseudogene", "kind": "transcript"},
    "Ensembl": _both(";biotype=processed_pseudogene", kind="pseudogenic_transcript"),
    "GENCODE": _both(";gene_type=unitary_pseudogene;transcript_type=unitary_pseudogene"),
}
PSEUDOGENES_OF_GTF = {
    "GENCODE": _both(' gene_type "IG_V_pseudogene"; transcript_type "IG_V_pseudogene";'),
    "Ensembl": _both(' gene_biotype "pseudogene"; transcript_biotype "pseudogene";'),
    "NCBI": {"kind": "", "of_gene": ' pseudo "true";', "more": ' pseudo "true";'},
    "NCBI, older": {"kind": "", "of_gene": ' gene_biotype "transcribed_pseudogene";'},
    "FlyBase": {"kind": "pseudogene"},
}
TRANSCRIPTS = {
    "a transcript of a pseudogene": {
        "gene_kind": "pseudogene",
        **_both(";gene_type=transcribed_unitary_pseudogene;transcript_type=lncRNA"),
    },
    "words": _both(";product=pseudouridine synthase;Note=no pseudogene;pseudo=false"),
    "lncRNA": {"kind": "lnc_RNA"},
    "ncRNA by type": {"kind": "ncRNA", "of_gene": ";Name=RME2_ncRNA"},
    "precursor": {"kind": "primary_transcript", "of_gene": ";gene_biotype=protein_coding"},
}
TRANSCRIPTS_OF_GTF = {
    "a transcript of a pseudogene": _both(
        ' gene_type "transcribed_unitary_pseudogene"; transcript_type "processed_transcript";'
    ),
    "words": _both(' product "a; pseudo"; pseudo "false"; gene_name "pseudo-1";'),
    "names": {"name": "MIR17HG_lncRNA"},
    "names of numbers": {"name": "ncRNA_12"},
    "names of coding genes": {"name": "TRNT1"},
}
SMALL = {
    "SGD": {"gene_kind": "snoRNA_gene", "kind": "", "exon": "noncoding_exon"},
    "Ensembl": _both(";biotype=Mt_rRNA", kind="rRNA"),
    "type of the gene": {"of_gene": ";gene_biotype=snRNA"},
    "FlyBase": {"kind": "pre_miRNA"},
    "piRNA": {"kind": "piRNA"},
}
SMALL_OF_GTF = {
    "Ensembl": _both(' gene_biotype "snoRNA";'),
    "NCBI, older": {"kind": "", "of_gene": ' gene_biotype "tRNA";'},
    "FlyBase": {"kind": "tRNA"},
    "yeast": {"name": "YNCA0001W_tRNA"},
    "yeast, ncRNA": {"name": "SCR1_ncRNA"},
    "yeast, older": {"name": "tA(UGC)A"},
    "tRNAscan": {"name": "tRNA-Ala-AGC-1-1"},
    "chloroplast": {"name": "gene-trnL"},
    "mitochondrion": {"name": "rrnS"},
}


def _of_dialects(gff3_cases, gtf_cases):
    """Return a parameter for each case: how its rows are written."""
    return [
        pytest.param(write, options, id=f"{name} {case}")
        for name, write, cases in (("GFF3", _typed, gff3_cases), ("GTF", _typed_gtf, gtf_cases))
        for case, options in cases.items()
    ]


def _mixed(write, options):
    """Return rows of genes, of which every third is written by a function of this file."""
    other = gtf if write is _typed_gtf else gff3
    return _every_third(lambda gene: write(gene, **options), other)


@pytest.mark.parametrize(
    ("write", "options"),
    [*_of_dialects(PSEUDOGENES, PSEUDOGENES_OF_GTF), *_of_dialects(SMALL, SMALL_OF_GTF)],
)
def test_pseudogenes_and_small_rnas_have_introns_and_no_ends(tmp_path, write, options):
    text = _mixed(write, options)
    check(tmp_path, text, ENDS, true=OTHERS)
    check(tmp_path, text, SPLICE)


@pytest.mark.parametrize(("write", "options"), _of_dialects(TRANSCRIPTS, TRANSCRIPTS_OF_GTF))
def test_ends_of_other_transcripts_are_sites(tmp_path, write, options):
    check(tmp_path, _mixed(write, options), ENDS)


@pytest.mark.parametrize("source", ["snoRNA", "Mt_tRNA", "processed_pseudogene", "tRNAscan-SE"])
def test_the_second_column_of_old_files_of_ensembl_is_the_type(tmp_path, source):
    def without_gene(text):
        return "".join(line for line in text.splitlines(True) if "\tgene\t" not in line)

    def write(gene):
        return without_gene(_typed_gtf(gene, kind="")).replace("\tt\t", f"\t{source}\t")

    text = _every_third(write, lambda gene: without_gene(gtf(gene)))
    check(tmp_path, text, ["tss"], true=GENES if source == "tRNAscan-SE" else OTHERS)


@pytest.mark.parametrize("signal", ENDS)
def test_ends_of_these_are_no_decoys_and_counted(tmp_path, caplog, signal):
    text = _mixed(_typed_gtf, SMALL_OF_GTF["FlyBase"]).replace("\ttRNA\t", "\tpseudogene\t", 2)
    check_dataset(tmp_path, text, signal, true=OTHERS)
    told = f"6 {signal} sites are left out: end of a pseudogene (2); end of a small RNA ("
    assert told in caplog.text


@pytest.mark.parametrize("signal", ENDS)
def test_a_warning_tells_if_coding_genes_have_no_ends(tmp_path, caplog, signal):
    """As of yeast, whose other transcripts may be transposons, of which only ORFs are annotated."""
    text = _every_third(_typed, lambda gene: gff3(replace(gene, exons=gene.cds)))
    true, _, _ = build(tmp_path, text, signal)
    assert true == sites(GENES[::3], signal)
    told = f"6 of 6 {signal} sites are those of transcripts without a coding sequence, and 10 codi"
    assert told in caplog.text
    text = text.replace("\ttranscript\t", "\ttRNA\t")
    with pytest.raises(SeqmtlError, match=r"\(tRNA, rRNA and the like\) \(6\); .* \(10\); give an"):
        build(tmp_path, text, signal)


def _incomplete(gene, case, signal):
    """Return rows of a gene of which one end is incomplete, as the case has it."""
    is_cds, is_first = signal in CODONS, signal in ("tss", "start")
    start, end = (gene.cds[0][0], gene.cds[-1][1]) if is_cds else _span(gene)
    tag = f"{'cds' if is_cds else 'mRNA'}_{'start' if is_first else 'end'}_NF"
    if case == "GENCODE GTF":
        return gtf(gene, more=f' tag "basic"; tag "{tag}";', codons=True)
    if case == "GENCODE GFF3":
        return gff3(gene, more=f";tag=basic,{tag};level=2")
    # NCBI: of the first or the last row, and in its coordinates
    is_left, kind = is_first == (gene.strand == "+"), "CDS" if is_cds else "mRNA"
    lines = gff3(gene).splitlines()
    at_end = [i for i, line in enumerate(lines) if f"\t{kind}\t" in line][-(not is_left)]
    lines[at_end] += ";partial=true;"
    lines[at_end] += f"start_range=.,{start + 1}" if is_left else f"end_range={end},."
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("signal", [*ENDS, *CODONS])
@pytest.mark.parametrize("case", ["GENCODE GTF", "GENCODE GFF3", "NCBI"])
def test_incomplete_ends_are_no_sites_and_no_decoys(tmp_path, case, signal):
    write = gtf if case == "GENCODE GTF" else gff3
    text = _every_third(lambda gene: _incomplete(gene, case, signal), write)
    check(tmp_path, text, [signal], true=OTHERS)
    other = {"tss": "polya", "polya": "tss", "start": "stop", "stop": "start"}[signal]
    check(tmp_path, text, ["donor", other])


CODING, NON_CODING = GENES[1::2], GENES[::2]


def _bed_of_all(more_of=lambda gene: "", **options):
    """Every second gene is non-coding; its thick part is the whole row."""
    text = ""
    for i, gene in enumerate(GENES):
        gene = gene if i % 2 else replace(gene, cds=())
        text += bed12(gene, thick=None if gene.cds else _span(gene), more=more_of(gene), **options)
    return text


def _gffread_column(gene, of_others=None):
    if not gene.cds:
        return of_others or f"\tgeneID={gene.name}"
    return f"\tCDS={gene.cds[0][0]}:{gene.cds[-1][1]};CDSphase=0;geneID={gene.name}"


def _big_gene_pred(gene):
    state = "cmpl" if gene.cds else "none"
    return f"\t{gene.name}\t{state}\t{state}\t0,\tx\t{gene.name}\t.\t."


BED = {
    "BED12": {},
    "dots": {"score": ".", "name": "."},
    "gffread": {"more_of": _gffread_column},
    "gffread with gene names": {"more_of": lambda gene: _gffread_column(gene, ";gene_name=x")},
    "bigGenePred": {"more_of": _big_gene_pred},
}


@pytest.mark.parametrize("case", BED)
def test_a_thick_part_that_is_the_whole_row_is_coding_only_if_it_reads_so(tmp_path, case):
    text = _bed_of_all(**BED[case])
    check(tmp_path, text, (*SPLICE, *ENDS), name="a.bed")
    check(tmp_path, text, CODONS, genes=CODING, name="a.bed")


def test_a_whole_row_that_is_a_reading_frame_is_coding(tmp_path):
    """Its ends are those of the coding sequence, not of transcription."""
    text = "".join(map(bed12, CODING))
    for gene in NON_CODING:
        text += bed12(replace(gene, exons=gene.cds), thick=(gene.cds[0][0], gene.cds[-1][1]))
    check(tmp_path, text, ENDS, genes=CODING, name="a.bed")
    check(tmp_path, text, CODONS, name="a.bed")


def test_dots_for_the_thick_part_are_no_coding_sequence(tmp_path):
    text = "".join(bed12(gene, thick=(".", ".")) for gene in GENES)
    check(tmp_path, text, ["tss"], name="a.bed")
    with pytest.raises(InputFormatError, match="must have coding sequences for start sites"):
        check(tmp_path, text, ["start"], name="a.bed")


@pytest.mark.parametrize("signal", SPLICE)
def test_junctions_without_a_known_strand_are_no_decoys(tmp_path, signal):
    """The letters of some introns are no intron's, and the file has no strand."""
    contigs = dict(CONTIGS)
    odd, signals = GENES[::4], {"donor": 0, "acceptor": 1}
    for gene in odd:
        for a, b in gene.introns:  # GT-TT instead of GT-AG, or TT-AG
            at_start = (signals[signal] == 1) == (gene.strand == "+")
            place = a if at_start else b - 2
            text = contigs[gene.contig]
            contigs[gene.contig] = text[:place] + "TT" + text[place + 2 :]
    text = "".join(
        f"{g.contig}\t{a + 1}\t{b}\t0\t0\t0\t9\t0\t30\n" for g in GENES for a, b in g.introns
    )
    true = [gene for gene in GENES if gene not in odd]
    options = {"name": "SJ.out.tab", "key": "junctions", "contigs": contigs}
    check(tmp_path, text, [signal], true=true, **options)
