"""The sites of annotations against those of gffread's output, which is read on its own here."""

import gzip
import shutil
import subprocess
from itertools import islice, pairwise

import numpy as np
import pytest

from seqmtl import read_annotation
from seqmtl.datasets import read_config
from seqmtl.datasets.build import read_sites
from seqmtl.datasets.signals import PSEUDOGENE, SMALL_RNA
from seqmtl.datasets.true_sites import SiteResolver

SIGNALS = ("donor", "acceptor", "tss", "polya", "start", "stop")
REAL = (
    "a_thaliana_chr1/annotation.gff3.gz",
    "genome_scerevisiae/S_cerevisiae.gff3.gz",
    "genome_scerevisiae/sacCer3.ensGene.gtf.gz",
    "genomes_1pct/a_thaliana.1pct.gff3.gz",
    "genomes_1pct/c_elegans.1pct.gff3.gz",
    "genomes_1pct/d_melanogaster.1pct.gff3.gz",
    "genomes_1pct/dm6.small.gtf.gz",
    "fly_2L/chr2L_1-2000000.gtf.gz",
    "vertebrates/cat.gff3.gz",
    "vertebrates/human6.gff3.gz",
    "vertebrates/mouse17.gff3.gz",
)
CASES = (
    "augustus_ids_restart_per_contig/in.gtf",
    "galba51_same_id_two_contigs/in.gtf",
    "gffcompare16_trans_splicing_one_strand/in.gff3",
    "gffread35_three_prime_utr_after_exon/in.gff3",
    "gxf2bed12_noncoding_thick_whole/in.bed",
    "mixed_gff3_and_gtf/in.gff3",
    "nfcore117_id_is_own_parent/in.gff3",
    "stringtie80_same_id_overlapping/in.gtf",
    "tiberius103_utr_outside_exon/in.gff3",
)
#: Why sites differ, by file, and by signal the numbers of those only in gffread's output and of
#: those only in ours.
DIFFERENCES = {
    "a_thaliana_chr1": (
        "gffread takes microRNAs for transcripts, whose ends are no sites of transcription: they "
        "are cut out of their precursors",
        {"tss": (24, 0), "polya": (24, 0)},
    ),
    "S_cerevisiae.gff3.gz": (
        "gffread takes rows of five_prime_UTR_intron for UTRs, and drops coding segments whose "
        "parents are of other types, such as blocked_reading_frame",
        {
            "donor": (22, 0),
            "acceptor": (22, 0),
            "tss": (24, 30),
            "polya": (0, 6),
            "start": (0, 6),
            "stop": (0, 6),
        },
    ),
    "a_thaliana.1pct.gff3.gz": (
        "gffread makes a transcript of each row of an intron whose parent has no row",
        {"tss": (2939, 0), "polya": (3408, 0)},
    ),
    "c_elegans.1pct.gff3.gz": (
        "gffread makes a transcript of a UTR whose exons are beyond the end of the contig",
        {"tss": (1, 0), "polya": (1, 0)},
    ),
    "d_melanogaster.1pct.gff3.gz": (
        "the same; and of rows with several parents without rows, gffread knows the first alone",
        {"tss": (495, 0), "polya": (459, 0), "stop": (3, 0)},
    ),
    "gffcompare16_trans_splicing_one_strand": (
        "gffread takes the gap between trans-spliced parts for an intron",
        {"donor": (1, 0), "tss": (1, 0), "start": (1, 0), "stop": (1, 0)},
    ),
    "gxf2bed12_noncoding_thick_whole": (
        "gffread takes a thick part that is the whole row for a coding sequence",
        {"start": (10, 0), "stop": (10, 0)},
    ),
    "mixed_gff3_and_gtf": (
        "gffread reads the format of the first rows alone",
        dict.fromkeys(("donor", "acceptor"), (0, 28))
        | dict.fromkeys(("tss", "polya", "start", "stop"), (0, 14)),
    ),
    "stringtie80_same_id_overlapping": (
        "gffread drops the second of two overlapping transcripts with one ID, and adds its exons "
        "to the first; here both are left out",
        {"tss": (10, 0), "polya": (10, 0)},
    ),
}


def by_signal(transcripts):
    """Return sites as (contig, position, is_reverse) of (contig, is_reverse, exons, coding)."""
    found = {signal: set() for signal in SIGNALS}
    for contig, is_reverse, exons, coding in transcripts:
        ends = {"tss": exons[0][0], "polya": exons[-1][1]}
        if coding:
            ends |= {"start": coding[0], "stop": coding[1]}
        if is_reverse:
            turned = {"tss": "polya", "polya": "tss", "start": "stop", "stop": "start"}
            ends = {turned[signal]: place for signal, place in ends.items()}
        for signal, place in ends.items():
            found[signal].add((contig, place, is_reverse))
        for (_, left), (right, _) in pairwise(exons):
            found["acceptor" if is_reverse else "donor"].add((contig, left, is_reverse))
            found["donor" if is_reverse else "acceptor"].add((contig, right, is_reverse))
    return found


def of_gffread(path, folder):
    """Return the sites of the BED that gffread makes of an annotation."""
    plain = folder / ("a.bed" if path.suffix == ".bed" else "a.gff")
    data = path.read_bytes()
    plain.write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)
    option = ["--in-bed"] if path.suffix == ".bed" else []
    command = ["gffread", "--bed", *option, str(plain)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    transcripts = []
    for line in text.splitlines():
        contig, start, _, _, _, strand, _, _, _, _, sizes, starts, *more = line.split("\t")
        if strand not in "+-":
            continue
        starts, _, attributes = starts.partition(";")  # without a tab if it has a gene_name alone
        blocks = zip(starts.strip(",").split(","), sizes.strip(",").split(","), strict=True)
        exons = [(int(start) + int(a), int(start) + int(a) + int(n)) for a, n in blocks]
        values = dict(
            own.split("=", 1) for own in ";".join([attributes, *more]).split(";") if "=" in own
        )
        coding = tuple(map(int, values["CDS"].split(":"))) if "CDS" in values else None
        transcripts.append((contig, strand == "-", exons, coding))
    return by_signal(transcripts)


def of_seqmtl(path):
    transcripts = []
    for own in read_annotation(path).transcripts:
        rows = (
            [*own.cds, *own.start_codon, *own.stop_codon] if own.cds and own.is_cds_certain else []
        )
        coding = (min(a for a, _ in rows), max(b for _, b in rows)) if rows else None
        transcripts.append((own.contig, own.is_reverse, own.exons, coding))
    return by_signal(transcripts)


def _compare(path, folder, name):
    theirs, ours = of_gffread(path, folder), of_seqmtl(path)
    _, expected = DIFFERENCES.get(name, ("", {}))
    numbers = {
        signal: (len(theirs[signal] - ours[signal]), len(ours[signal] - theirs[signal]))
        for signal in SIGNALS
    }
    assert numbers == dict.fromkeys(SIGNALS, (0, 0)) | expected
    assert any(theirs.values())
    return theirs, ours


@pytest.mark.parametrize(
    "name",
    [
        "genomes_1pct/dm6.small.gtf.gz",
        "vertebrates/human6.gff3.gz",
    ],
)
def test_the_order_of_rows_and_rows_written_twice_do_not_matter(shared_data, tmp_path, name):
    path = shared_data / name
    rows = [line for line in gzip.open(path, "rt") if not line.startswith("#")]
    expected = of_seqmtl(path)
    mixed = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    by_place = sorted(2 * rows, key=lambda row: (row.split("\t")[0], int(row.split("\t")[3])))
    for lines in (mixed, by_place):
        (tmp_path / "a.gff").write_text("".join(lines))
        assert of_seqmtl(tmp_path / "a.gff") == expected


def _first_rows(path, folder):
    """Return a file of the first genes of an annotation."""
    with gzip.open(path, "rt") as stream:
        rows = [*islice(stream, 60_000)]
    last = max(i for i, row in enumerate(rows) if "\tgene\t" in row)
    (folder / "first.gff3").write_text("".join(rows[:last]))
    return folder / "first.gff3"


needs_gffread = pytest.mark.skipif(shutil.which("gffread") is None, reason="no gffread")


@needs_gffread
@pytest.mark.parametrize("name", REAL)
def test_sites_of_real_annotations_are_those_of_gffread(shared_data, tmp_path, name):
    path = shared_data / name
    if path.name == "annotation.gff3.gz":
        name, path = path.parent.name, _first_rows(path, tmp_path)
    else:
        name = path.name
    theirs, ours = _compare(path, tmp_path, name)
    if path.name in ("a_thaliana.1pct.gff3.gz", "d_melanogaster.1pct.gff3.gz"):
        rows = [line.split("\t") for line in gzip.open(path, "rt") if "\tintron\t" in line]
        introns = {(f[0], int(place), f[6] == "-") for f in rows for place in (int(f[3]) - 1, f[4])}
        assert theirs["tss"] - ours["tss"] <= introns


@needs_gffread
@pytest.mark.parametrize("name", CASES)
def test_sites_of_cases_of_the_field_are_those_of_gffread(shared_data, tmp_path, name):
    path = shared_data / "field_cases" / name
    if not path.exists():
        pytest.skip(f"no {path}")
    _compare(path, tmp_path, path.parent.name)


@needs_gffread
@pytest.mark.parametrize(
    ("name", "signals"),
    [
        ("genomes_1pct/c_elegans.1pct", ("tss", "polya", "start", "stop")),
        ("vertebrates/human6", ("tss", "polya")),
    ],
)
def test_sites_of_gffreads_bed_are_those_of_the_gff3(shared_data, tmp_path, name, signals):
    """Non-coding rows of its BED have a thick part from end to end, as coding ones without UTRs.

    Column 13 tells them apart. Without it their letters do: a few non-coding transcripts of real
    genomes are reading frames, and a few coding ones are not. No column tells pseudogenes and small
    RNAs, whose ends are left out of the GFF3.
    """
    data = gzip.decompress((shared_data / f"{name}.gff3.gz").read_bytes())
    others = b"\tintron\t", b"\tParent=Transcript:T25D3.3.1\n"  # a UTR alone
    rows = [line for line in data.splitlines(True) if not any(map(line.__contains__, others))]
    (tmp_path / "a.gff3").write_bytes(b"".join(rows))
    command = ["gffread", "--bed", str(tmp_path / "a.gff3")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for n_columns in (12, 13):
        lines = ["\t".join(line.split("\t")[:n_columns]) for line in text.splitlines()]
        (tmp_path / f"{n_columns}.bed").write_text("\n".join(lines) + "\n")

    def read(file, signal):
        """Return the sites of a file, and those left out for what BED does not tell."""
        (tmp_path / "c.toml").write_text(
            f'signal = "{signal}"\n[organisms.o]\ngenome = "{shared_data / name}.fa.gz"\n'
            f'annotation = "{file}"\n'
        )
        config = read_config(tmp_path / "c.toml")
        genome, annotated, *_ = read_sites(config, "o", config.organisms["o"])
        result = SiteResolver("o", file, genome, config.site, config.window).find(annotated)
        starts, strands = result.sites.starts.tolist(), result.sites.is_reverse.tolist()
        untold = {
            (row.start + int(genome.starts[genome.index(row.contig)]), row.strand == "-")
            for row in result.exclusions
            if row.reason in (PSEUDOGENE, SMALL_RNA)
        }
        return {*zip(starts, strands, strict=True)}, untold

    for signal in signals:
        of_gff3, untold = read("a.gff3", signal)
        assert of_gff3
        for file, n_different in (("12.bed", 6), ("13.bed", 0)):
            of_bed, more = read(file, signal)
            assert len((of_gff3 ^ of_bed) - untold - more) <= n_different, (signal, file)
