"""Datasets of real genomes against sites counted row by row without seqmtl."""

import csv
import gzip
import json
import subprocess
from shutil import which

import pytest

from seqmtl import read_dataset
from seqmtl.commands.main import main
from seqmtl.io import read_summary
from tests.invocation import rows_of
from tests.oracles.annotation import LENGTHS, read_fasta, reverse_complement, sites_of

PF, SC, PIECES = "genome_pfalciparum", "genome_scerevisiae", "genomes_1pct"
GENOMES = {
    "pf": (f"{PF}/Pf3D7_chr01-12.fasta.gz", f"{PF}/Pf3D7_chr01-12.gff3.gz"),
    "sc": (f"{SC}/S_cerevisiae.fasta.gz", f"{SC}/S_cerevisiae.gff3.gz"),
    "sc_gtf": (f"{SC}/S_cerevisiae.fasta.gz", f"{SC}/sacCer3.ensGene.gtf.gz"),
    "at": (f"{PIECES}/a_thaliana.1pct.fa.gz", f"{PIECES}/a_thaliana.1pct.gff3.gz"),
    "ce": (f"{PIECES}/c_elegans.1pct.fa.gz", f"{PIECES}/c_elegans.1pct.gff3.gz"),
    "dm": (f"{PIECES}/d_melanogaster.1pct.fa.gz", f"{PIECES}/d_melanogaster.1pct.gff3.gz"),
    "dm6": (f"{PIECES}/dm6.small.fa.gz", f"{PIECES}/dm6.small.gtf.gz"),
}
# Sites counted by hand of the files' rows (awk and bedtools), each place once.
COUNTS = {
    ("pf", "donor"): 6108,
    ("sc", "tss"): 19,
    ("sc_gtf", "stop"): 6599,
    ("at", "start"): 365,
    ("ce", "acceptor"): 959,
    ("dm", "donor"): 414,
    ("dm6", "polya"): 211,
}
WINDOW = 241


@pytest.fixture(scope="module")
def fasta(shared_data):
    kept = {}

    def read(name):
        if name not in kept:
            kept[name] = read_fasta(shared_data / name)
        return kept[name]

    return read


def build(tmp_path, shared_data, organism, signal, more=""):
    genome, annotation = GENOMES[organism]
    names = ""
    if organism == "sc_gtf":
        (tmp_path / "names.tsv").write_text("chrM\tchrmt\n")
        names = 'contig_names = "names.tsv"'
    (tmp_path / "config.toml").write_text(
        f'signal = "{signal}"\n[decoys]\nratio = 1\n{more}\n[organisms.{organism}]\n'
        f'genome = "{shared_data / genome}"\nannotation = "{shared_data / annotation}"\n{names}\n'
    )
    folder = tmp_path / "dataset"
    assert main(["dataset", str(tmp_path / "config.toml"), "-o", str(folder), "--quiet"]) == 0
    return folder


def sites_in(folder, signal):
    """Return the true sites of windows.tsv, and those left out for what the windows share."""
    length = LENGTHS[signal]
    offset = WINDOW // 2 - length // 2
    kept, shared = set(), set()
    for line in (folder / "windows.tsv").read_text().splitlines()[1:]:
        contig, start, end, _, _, strand, _, label, _, _ = line.split("\t")
        if label == "1":
            first = int(start) + offset if strand == "+" else int(end) - offset - length
            kept.add((contig, first, strand))
    with open(folder / "excluded.tsv") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            if row["reason"].startswith("window") and row["start"] != ".":
                shared.add((row["contig"], int(row["start"]), row["strand"]))
    return kept, shared


def with_letters(sites, sequences, signal):
    """Keep sites that read GT or AG: others are left out for that, wherever their windows lie."""
    letters = {"donor": "GT", "acceptor": "AG"}.get(signal)
    if letters is None:
        return sites
    on_strand = {"+": letters, "-": reverse_complement(letters)}
    return {
        (contig, start, strand)
        for contig, start, strand in sites
        if sequences[contig][start : start + 2].upper() == on_strand[strand]
    }


@pytest.mark.parametrize(("organism", "signal"), COUNTS)
def test_the_sites_are_those_of_the_annotation(tmp_path, shared_data, fasta, organism, signal):
    genome, annotation = GENOMES[organism]
    sequences = dict(fasta(genome))
    if organism == "sc_gtf":
        sequences["chrM"] = sequences["chrmt"]
    expected = sites_of(shared_data / annotation, sequences, signal)
    folder = build(tmp_path, shared_data, organism, signal)
    kept, shared = sites_in(folder, signal)
    rename = {"chrmt": "chrM"} if organism == "sc_gtf" else {}
    found = {(rename.get(contig, contig), start, strand) for contig, start, strand in kept}
    shared = with_letters(shared, sequences, signal)
    assert found | shared == expected
    assert not found & shared
    assert len(expected) == COUNTS[organism, signal]
    leakage = json.loads((folder / "summary.json").read_text())["leakage"]
    assert not any(leakage["duplicates_between_splits"].values())
    assert not any(leakage["overlapping_between_splits"].values())
    assert leakage["with_both_labels"] == 0


@pytest.fixture(scope="module")
def yeast_tss(tmp_path_factory, shared_data):
    """Return folder and FASTA of a dataset made of a BED of transcription starts."""
    tmp_path = tmp_path_factory.mktemp("yeast")
    genome = shared_data / SC / "S_cerevisiae.fasta.gz"
    (tmp_path / "config.toml").write_text(
        'signal = "tss"\nwindow = 101\n[decoys]\nratio = 2\n[organisms.yeast]\n'
        f'genome = "{genome}"\nsites = "{shared_data / SC / "tss_epdnew.bed.gz"}"\n'
    )
    assert main(["dataset", str(tmp_path / "config.toml"), "-o", str(tmp_path / "d"), "-q"]) == 0
    return tmp_path / "d", genome


def test_the_sites_are_those_of_a_bed(yeast_tss, shared_data):
    folder, _ = yeast_tss
    facts = read_summary(folder)["organisms"]["yeast"]
    with gzip.open(shared_data / SC / "tss_epdnew.bed.gz", "rt") as rows:
        places = {(f[0], int(f[1]), f[5].strip()) for f in (row.split("\t") for row in rows)}
    found = set()
    for contig, start, end, _, _, strand, _, label, *_ in rows_of(folder / "windows.tsv"):
        if label == "1":
            found.add((contig, int(start) + 50 if strand == "+" else int(end) - 51, strand))
    assert found <= places
    n_excluded = sum(n for why, n in facts["excluded"].items() if why.startswith("window"))
    assert facts["sites"] == len(found) >= len(places) - n_excluded


@pytest.mark.skipif(which("bedtools") is None, reason="no bedtools")
def test_windows_as_bedtools_cuts_them(tmp_path, yeast_tss):
    folder, genome = yeast_tss
    plain = tmp_path / "genome.fa"
    plain.write_bytes(gzip.open(genome).read())
    text = subprocess.run(
        ["bedtools", "getfasta", "-s", "-fi", plain, "-bed", folder / "windows.tsv"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    sequences = [line.upper() for line in text.splitlines() if not line.startswith(">")]
    assert read_dataset(folder).sequences() == sequences
