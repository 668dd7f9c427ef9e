"""Every benchmark runs to its end and prints its figures, at sizes that measure nothing."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import io
import json
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from seqmtl import WeightedDegree, read_dataset
from seqmtl.cli.main import main
from seqmtl.io.annotation import read_annotation
from seqmtl.models.fit import train_windows

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"

# in the place of minisplice, which is a program of its own: every candidate is as good as its place
MINISPLICE = """#!{python}
import re, sys
if sys.argv[1] == "train":
    open(sys.argv[sys.argv.index("-o") + 1], "w").write("model")
if sys.argv[1] == "predict":
    for record in open(sys.argv[-1]).read().split(">")[1:]:
        name, *lines = record.split("\\n")
        for word, letter, strand, step in (
            ("GT", "D", "+", 0), ("AG", "A", "+", 2), ("AC", "D", "-", 2), ("CT", "A", "-", 0)
        ):
            for found in re.finditer(word, "".join(lines), re.IGNORECASE):
                offset = found.start() + step
                print(name.split()[0], offset, strand, letter, offset % 97 / 97, sep="\\t")
"""

# in the place of minimap2 and miniprot: it knows the exons of some queries, and ends the first exon
# three bases late unless it is given scores of all junctions
ALIGNER = """#!{python}
import json, sys
known, protein = json.load(open("{known}")), sys.argv[0].endswith("miniprot")
given = [line.split()[:4] for x in sys.argv if x[:7] == "--spsc=" for line in open(x[7:])]
for record in open(sys.argv[-1]).read().split(">")[1:]:
    name, sequence = record.split()
    if sequence in known:
        contig, strand, exons = known[sequence]
        ends = [(str(e), "DA"[strand == "-"]) for s, e in exons[:-1]]
        ends += [(str(s), "AD"[strand == "-"]) for s, e in exons[1:]]
        if any([contig, end, strand, letter] not in given for end, letter in ends):
            exons = [[exons[0][0], exons[0][1] + 3], *exons[1:]]
        if protein:
            for start, end in exons[:: 1 if strand == "+" else -1]:
                print(contig, "miniprot", "CDS", start + 1, end, 9, strand, 0,
                      "Parent=MP1;Rank=1;Target=%s 1 9" % name, sep="\\t")
        else:
            gaps = ["%dM%dN" % (a[1] - a[0], b[0] - a[1]) for a, b in zip(exons, exons[1:])]
            cigar = "".join(gaps) + "%dM" % (exons[-1][1] - exons[-1][0])
            print(name, 9, 0, 9, strand, contig, 9, exons[0][0], exons[-1][1], 9, 9, 60,
                  "cg:Z:" + cigar, sep="\\t")
"""


def seqmtl(*arguments: object) -> None:
    """Run a command."""
    assert main([*map(str, arguments), "-q"]) == 0


def run(name: str, *arguments: object) -> str:
    """Run a benchmark and return what it printed."""
    printed = in_this_process(FOLDER / f"bench_{name}.py", *arguments)
    assert not re.search(r"\bnan\b", printed)
    return printed


def in_this_process(script: str | Path, *arguments: object) -> str:
    """Run a script without a start of Python and its imports; return what it printed."""
    printed = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(action="ignore"),
    ):
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            patch.setenv(variable, "1")
        patch.setattr(sys, "argv", [str(script), *map(str, arguments)])
        runpy.run_path(str(script), run_name="__main__")
    return printed.getvalue()


@pytest.fixture(autouse=True)
def few_processes(monkeypatch, request):
    """Let benchmarks measure in this process, but for one, which does as they all do."""
    monkeypatch.syspath_prepend(str(FOLDER))
    if "large" in request.node.name:
        return
    common = importlib.import_module("_common")
    monkeypatch.setattr(common, "run_alone", lambda *run: json.loads(in_this_process(*run)))
    start = subprocess.run

    def run_here(command, **options):
        """Run ``python -m seqmtl``, and start all other programs."""
        if "seqmtl" not in command:
            return start(command, **options)
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(list(map(str, command[3:]))) == 0
        return None

    monkeypatch.setattr(subprocess, "run", run_here)


def _planted(folder, organisms=("a", "b"), n_windows=240, train_every=3):
    """Return a table of windows whose true sites, one of four, are told by three bases."""
    rng = np.random.default_rng(0)
    rows = ["organism\tlabel\tsplit\tsequence"]
    for n in range(n_windows):
        bases, label = rng.choice(list("ACGT"), size=20), 1 if n % 4 == 0 else -1
        bases[10:13] = list("TTC" if label > 0 else "GCA")
        organism = organisms[n // 4 % len(organisms)]
        split = "test" if n % train_every else "train"
        rows.append(f"{organism}\t{label}\t{split}\t{''.join(bases)}")
    (folder / "windows.tsv").write_text("\n".join(rows) + "\n")
    return folder / "windows.tsv"


def features(folder):
    options = ["--sizes", 20, "--draws", 2, "--maps", "default", "exact", "--crop", 3, 18]
    return run("features", _planted(folder), *options)


def hashing(folder):
    return run("hashing", _planted(folder), "--features", "wd:3", "--bits", 6, 0)


def adapt(folder):
    windows = _planted(folder, ("bee", "ant", "cat"), 360, train_every=5)
    options = ["--tree", "((bee:1,ant:1):1,cat:2);", "--sizes", 10, "--draws", 2]
    return run("adapt", windows, *options, "--per-relative", 20)


def aligners(folder):
    rng, codons = np.random.default_rng(0), {"M": "ATG", "K": "AAA", "L": "CTG", "E": "GAA"}
    turn, genome, rows, known = str.maketrans("ACGT", "TGCA"), "", [], {}
    for gene, strand in enumerate("+-+-"):
        protein = "M" + "".join(rng.choice(list("KLE"), 80))
        coding = "".join(codons[residue] for residue in protein) + "TAA"
        parts = ["CTCT" + coding[:100], coding[100:161], coding[161:] + "CTTC"]
        text = "GTCCCCTTTTAG".join(parts)
        lengths = [len(part) for part in parts][:: 1 if strand == "+" else -1]
        genome += "C" * 50
        starts = len(genome) + np.cumsum([0, *lengths[:-1]]) + 12 * np.arange(3)
        exons = [[int(a), int(a) + n] for a, n in zip(starts, lengths, strict=True)]
        genome += text if strand == "+" else text[::-1].translate(turn)
        known["".join(parts)] = known[protein] = ["c", strand, exons]
        rows += [
            f'c\tx\texon\t{a + 1}\t{b}\t.\t{strand}\t.\tgene_id "g{gene}"; transcript_id "t{gene}";'
            for a, b in exons
        ]
    (folder / "genome.fa").write_text(f">c\n{genome}\n")
    (folder / "genes.gtf").write_text("\n".join(rows) + "\n")
    (folder / "known.json").write_text(json.dumps(known))
    (folder / "none.spsc").write_text("")
    printed = ""
    for name in ("minimap2", "miniprot"):
        program = folder / name
        program.write_text(ALIGNER.format(python=sys.executable, known=folder / "known.json"))
        program.chmod(0o755)
        options = ["--scores", f"empty={folder / 'none.spsc'}", "--divergence", 0, 0.3]
        printed += run("aligners", program, folder / "genome.fa", folder / "genes.gtf", *options)
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]
    return printed


def against_liblinear(folder):
    rng = np.random.default_rng(0)
    rows = ["organism\tlabel\tsplit\tsequence"]
    for n in range(60):
        sequence = "".join(rng.choice(list("ACGT"), size=20))
        rows.append(f"{'ab'[n % 2]}\t{1 if n % 3 else -1}\ttrain\t{sequence}")
    (folder / "windows.tsv").write_text("\n".join(rows) + "\n")
    options = ["--degree", 3, "--tol", 1e-5, "--liblinear-tol", 1e-5, "--runs", 1]
    printed = run("against_liblinear", folder / "windows.tsv", *options)
    own, other = map(float, re.findall(r"(\d+\.\d{6}) \|$", printed, re.MULTILINE))
    assert own == pytest.approx(other, rel=1e-4)  # of one problem
    return printed


def write_minisplice(folder):
    program = folder / "minisplice"
    program.write_text(MINISPLICE.format(python=sys.executable))
    program.chmod(0o755)
    return program


def against_minisplice(folder):
    program = write_minisplice(folder)
    simulated = ["simulate", "--tree", "(bee:0.1,ant:0.1);", "--chromosome-length", "50000"]
    assert main([*simulated, "--no-windows", "-q", "-o", str(folder)]) == 0
    (folder / "bee.toml").write_text(
        'signal = "donor"\nwindow = 30\nsplit.by = "contigs"\n'
        '[organisms.bee]\ngenome = "genomes/bee.fa"\nannotation = "annotation/bee.gff3"\n'
    )
    places: list[Path] = []
    for signal in ("donor", "acceptor"):
        place, model = folder / signal, folder / f"{signal}.seqmtl"
        command = ["dataset", str(folder / "bee.toml"), "--signal", signal, "-o", str(place), "-q"]
        assert main(command) == 0
        windows = read_dataset(place, split="train").windows
        train_windows(windows, features=WeightedDegree(3))[0].save(model)
        places += [place, model]
    return run("against_minisplice", program, *places, "--organism", "bee")


def cluster(folder):
    sizes = ["--genomes", 2, "--megabases", 0.1, "--few", 2, "--windows", 60]
    return run("cluster", *sizes, "--repeats", 1, "--kills", 1, "--killed", "scheduler")


def junctions(folder):
    tree = "(a:0.1,b:0.1);"
    options = ["--chromosomes", 4, "--chromosome-length", 40_000, "--no-windows"]
    seqmtl("simulate", "-o", folder / "sim", "--tree", tree, *options)
    (folder / "data").mkdir()
    for name in "ab":
        genome = (folder / "sim" / "genomes" / f"{name}.fa").read_bytes()
        (folder / "data" / f"{name}.1pct.fa.gz").write_bytes(gzip.compress(genome))
        gff = (folder / "sim" / "annotation" / f"{name}.gff3").read_text()
        transcripts = read_annotation(folder / "sim" / "annotation" / f"{name}.gff3").transcripts
        rows = "".join(
            f"{t.contig}\tRNASeq_splice\tintron\t{start + 1}\t{end}\t9\t{'+-'[t.is_reverse]}\t.\t"
            f"ID={t.name}.{start}\n"
            for t in transcripts
            for start, end in t.introns
        )
        text = (gff + rows).encode()
        (folder / "data" / f"{name}.1pct.gff3.gz").write_bytes(gzip.compress(text))
    options = ["--organisms", "a", "b", "--folds", 2, "--no-selection"]
    printed = run("junctions", folder / "data", *options, "--ways", "reads", "errors")
    base, errors, reads = (line.split(" | ") for line in printed.splitlines()[2:5])
    assert (base[0], errors[0], reads[0]) == ("| annotation", "| errors", "| reads")
    assert abs(float(reads[4])) < 0.05  # the same introns
    return printed


def few_labels(folder):
    windows = _planted(folder)
    (folder / "tree.nwk").write_text("(a:0.1,b:0.1);")
    options = ["--tree", folder / "tree.nwk", "--sizes", 20, "--draws", 2]
    out = ["--folder", folder / "runs", "--json", folder / "out.json"]
    printed = run("few_labels", windows, *options, *out)
    result = json.loads((folder / "out.json").read_text())
    assert "/" not in result["command"]
    assert result["date"]
    assert [row["method"] for row in result["rows"]] == ["individual", "union", "tree", "default"]
    return printed


def genomes(folder):
    options = ["--chromosomes", 6, "--chromosome-length", 30_000, "--no-windows"]
    seqmtl("simulate", "-o", folder / "sim", "--tree", "(a:0.1,b:0.1);", *options)
    text = 'signal = "donor"\nwindow = 60\nsplit.by = "contigs"\nseed = 1\n'
    for name in "ab":
        text += f'[organisms.{name}]\ngenome = "sim/genomes/{name}.fa"\n'
        text += f'annotation = "sim/annotation/{name}.gff3"\n'
    (folder / "first.toml").write_text(text)
    (folder / "tree.nwk").write_text("(a:0.1,b:0.1);")
    out = ["--no-homologues", "--folder", folder / "runs", "--json", folder / "genomes.json"]
    printed = run("genomes", folder / "first.toml", "--tree", folder / "tree.nwk", *out)
    result = json.loads((folder / "genomes.json").read_text())
    assert [row["organism"] for row in result["rows"]] == ["a", "b", "mean"] * 2
    found = json.loads((folder / "runs" / "first.pair.seqmtl.json").read_text())
    paired = [found["signals"]["donor"]["paired"]["tasks"][name]["auprc_genome"] for name in "ab"]
    assert result["rows"][2]["paired"] == pytest.approx(sum(paired) / 2)
    return printed


def label_errors(folder):
    options = ["--sites", 15, "--errors", 0, 0.2, "--draws", 2]
    return run("label_errors", _planted(folder, n_windows=480), *options)


def large(folder):
    return run("large", "--n", 200, "--window", 30, "--features", "wd:3")


def out_of_core(folder):
    options = ["--n", 4000, "--batch", 2500, "--memory", 2, "--in-core", 4000]
    return run("out_of_core", *options) + run("out_of_core", *options, "--dask", "local:2")


def threads(folder):
    return run("threads", "--n", 300, "--genome", 0.05, "--repeats", 1)


def many_tasks(folder):
    options = ["--tasks", 3, 20, "--windows", 30, "--tol", 1e-2, "--scan", 0.1, "--methods"]
    return run("many_tasks", *options, "tree", "matrix", "clade", "default", "mkl")


def mkl(folder):
    return run("mkl", "--per-task", 40, "--degree", 3, "--repeats", 1)


def numeric(folder):
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((60, 3)), np.arange(60) % 3
    np.savez(folder / "data.npz", X=X, y=np.sign(X[:, 0]), task=task)
    printed = run("numeric", folder / "data.npz", "--tol", 1e-3, 1e-7)
    return printed + run("numeric", "--n", 300, "--tol", 1e-3, "--loss", "epsilon_insensitive")


def rivals(folder):
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((240, 3)), np.arange(240) % 3
    y = np.sign(X[:, 0] + 0.3 * rng.standard_normal(240))
    np.savez(folder / "data.npz", X=X, y=y, task=task)
    options = ["--train", 0.5, "--splits", 1, "--methods", "scikit", "MultiTaskSVC"]
    return run("rivals", folder / "data.npz", *options)


def _pair(folder):
    """Return files of a paired model and of its ends, and of a genome with its annotation."""
    tree, sim = "(a:0.1,b:0.1);", folder / "sim"
    options = ["--chromosomes", 4, "--chromosome-length", 40_000, "--no-windows"]
    seqmtl("simulate", "-o", sim, "--tree", tree, *options)
    splits = "".join(f'\n[organisms.{x}.split]\nvalid = ["chr2"]\ntest = ["chr1"]\n' for x in "ab")
    config = sim / "dataset.toml"
    config.write_text("window = 61\n" + config.read_text() + splits)
    names = {"donor": folder / "donors", "acceptor": folder / "acceptors"}
    for signal, data in names.items():
        seqmtl("dataset", config, "--signal", signal, "-o", data)
        fixed = ["--selection", "none", "--features", "wd:3", "--window", 41]
        seqmtl("train", data, *fixed, "-o", folder / signal)
        seqmtl("calibrate", folder / signal, data, "-o", folder / signal)
    models = [folder / name for name in ("splice", *names)]
    seqmtl("pair", *models[1:], *names.values(), "-o", models[0])
    return models, sim / "genomes" / "a.fa", sim / "annotation" / "a.gff3"


def paired(folder):
    models, genome, _ = _pair(folder)
    return run("paired", *models, genome, "--organism", "a", "--megabases", 0.1)


def unlabelled(folder):
    models, genome, annotation = _pair(folder)
    text = f'window = 61\n[organisms.z]\ngenome = "{genome}"\nannotation = "{annotation}"\n'
    (folder / "z.toml").write_text(text)
    truth = [folder / "z_donors", folder / "z_acceptors"]
    for signal, data in zip(("donor", "acceptor"), truth, strict=True):
        seqmtl("dataset", folder / "z.toml", "--signal", signal, "-o", data)
    options = ["--organism", "z", "--like", "a", "--rounds", 1]
    options += ["--known", 40, "--annotation", annotation]
    return run("unlabelled", models[0], genome, *truth, *options)


def scan(folder):
    return run("scan", "--genome", 0.02, "--length", 30, "--degree", 3, "--repeats", 1)


def scan_tracks(folder):
    options = ["--genome", 0.3, "--window", 30, "--signals", "donor", "--threads", 1]
    return run("scan_tracks", *options, "--formats", "spsc")


def solver(folder):
    return run("solver", "--n", 1_000, "--window", 30, "--degree", 3)


def variants(folder):
    models, genome, _ = _pair(folder)
    options = ["--model", models[0], "--genome", genome, "--organism", "a", "--spacing", 10]
    found = run("variants", "--variants", 150, "--length", 30, "--features", "wd:3")
    return found + run("variants", "--variants", 20, *options)


def exon_effects(folder):
    models, genome, annotation = _pair(folder)
    return run("exon_effects", models[0], genome, annotation, "--organism", "a", "--most", 4)


def worm(folder):
    rng = np.random.default_rng(0)
    rows = ["label\ttrain_rank\tsplit\tsplit_random\tsequence"]
    for n in range(240):
        bases, label = rng.choice(list("ACGT"), size=398), 1 if n % 4 == 0 else -1
        bases[197:199] = "A", "G"
        bases[190:195] = list("TTTTC" if label > 0 else "GCAGA")
        part = "train" if n < 160 else "test"
        rows.append(f"{label}\t{159 - n}\t{part}\t{part}\t{''.join(bases)}")
    with gzip.open(folder / "worm.tsv.gz", "wt") as stream:
        stream.write("\n".join(rows) + "\n")
    options = ["--minisplice", write_minisplice(folder), "--sizes", 100, "--windows", 141]
    printed = run("worm", folder / "worm.tsv.gz", *options, "--resamples", 20)
    # the motif tells all true sites, and a program to which all are alike finds one in four
    assert len(re.findall(r"\| 141 \| .* \| 1 \| \+0\.7500 \(", printed)) == 6
    return printed


FIGURES = {
    features: [r"^\| 20 \| default \| 1 \| 1 ", r"^\| 20 \| exact \| 1 \| 1 .* 0 \| 0 \| \d"],
    adapt: [
        r"^\| 0 \| adapt \| 1 \|(  \|){3}( 1 \|){3}  \|$",  # the motif tells all true sites
        r"^\| 0 \| single \| 1 \| adapt \| 0 \|  \|( 1 \|){3}",
        r"^\| 10 \| joint \| 1 \| .* \d+(\.\d+)? \|$",
        r"^\| 10 \| own \| [01]",
    ],
    aligners: [
        r"^4 genes, 8 introns; 0 genes left out$",
        r"^\| 0 \| none \| 0\.5 \| 0\.5 \| 0 \| 50 \|( 0 \|){5}$",
        r"^\| 0 \| empty \| 0\.5 \| 0\.5 ",
        r"^\| 0 \| annotation \| 1 \| 1 \|( 0 \|){7}$",
        r"^\| 0\.3 \| annotation \| 0 ",  # it knows no other queries
    ],
    against_liblinear: [
        r"\| seqmtl, gap 1e-05 \| \d\S* \| \d\S* \| \d\S* \| \d+\.\d{6} \|",
        r"\| LinearSVC, tol 1e-05 \| \d\S* \| \d\S* \| \d\S* \| \d+\.\d{6} \|",
    ],
    against_minisplice: [
        r"^\| acceptor \| seqmtl \| [01]\S* \| [01]\S* \| .* \| \+0\.\d+ \(.*\) \| \d\S* \|$",
        *(
            rf"^\| {signal} \| {program} \| [01]"
            for signal in ("donor", "acceptor")
            for program in ("minisplice", "seqmtl")
        ),
    ],
    cluster: [
        r"^workers / threads, wall \d+\.\d{3}$",
        r"^workers / threads, cpu \d+\.\d{3}$",
        r"^scan, a worker killed: 1 of 1 runs as undisturbed; [01] killed, \d pieces begun ",
        r"^scan, the scheduler killed and the command repeated: 1 of 1 as undisturbed; \d of 4 ",
    ],
    few_labels: [r"^\| 20 \| default \| 1 \| 0 \| 1 \| 1 \|$"],
    genomes: [r"^\| acceptor \| mean \|( -?\d\S* \|){5}$"],
    junctions: [rf"^\| {way} \|( [01]\S* \|){{3}}" for way in ("annotation", "errors", "reads")],
    hashing: [
        r"^\| 6 \| [01]\S* \| -?\d\S* \| \d\S* \| \d\S* \| \d\S* \| 0\.0\d+ \|$",
        r"^\| exact \| 1 \| 0 \| 0 \|",
    ],
    label_errors: [r"^\| 0 \|( 1 \|){4}( 0 \|){4}$", r"^\| 0\.2 \|( [01]\S* \|){8}$"],
    large: [r"^\| 200 \| 4(\.\d+)? \| \d"],
    many_tasks: [
        rf"^\| {method} \| {tasks} \| {tasks * 30} \| .* 0\.\d+ \|$"
        for method in ("tree", "matrix", "clade", "default", "mkl")
        for tasks in (3, 20)
    ],
    out_of_core: [
        r"^\| 4000 \| memory \| 0 \|( \d\S* \|){8}$",
        r"^\| 4000 \| disk \|( \d\S* \|){9}$",
        r"^\| 4000 \| disk \|( \d\S* \|){12}$",
    ],
    threads: [
        rf"^\| {name} \|( \d\S* \|){{7}} same \|$" for name in ("training", "default", "scan")
    ],
    mkl: [r"^fixed +240 .*\d$", r"^mkl +240 .*\d$", r"CPU s in all, mkl / fixed +\d+\.\d\d"],
    numeric: [
        *(
            rf"^\| {loss} \| 1 \| 1e-07 \|( \d\S* \|){{4}} >?\d+\.\d \|$"
            for loss in ("hinge", "squared_hinge", "logistic")
        ),
        r"^\| epsilon_insensitive \| 1 \| 0\.001 \| .*\d \|$",
    ],
    paired: [
        rf"^\| {n} \| {what} \| 0\.16\d* \|( \d\S* \|){{5}}$"
        for n in (1, 2)
        for what in ("paired", "donors", "acceptors")
    ],
    rivals: [
        r"^  50%  scikit-learn, union +0\.9\d{3} ± 0\.0000 +none +\d+\.\d\d$",
        r"^  50%  MultiTaskSVC +0\.9\d{3} ± 0\.0000 +\de-\d\d +\d+\.\d\d$",
    ],
    unlabelled: [
        r"^expected \d+ \d+  sure \d+ \d+ .* introns \d+-\d+-\d+$",
        r"^\| z \| 0 \| Unlabelled \| 0 \| donor \| [01]\S* \|( \d\S* \|){5}  \|$",
        r"^\| z \| 40 \| Alone \| 1 \| acceptor \| [01]\S* \|( \d\S* \|){6}$",
    ],
    scan: [
        r"0\.04 Mb, both strands, AG, to BED: [\d,]+ records",
        r"^\| scan, minus strand \| \d\S* \| \d\S*e-\d+ \| \d\S* \|$",
        r"^\| roofline: read the rows \| \d\S* \|  \|  \|$",
    ],
    scan_tracks: [r"donor +near +spsc +letters .* [\d,]+ sites", r"donor +far +spsc"],
    solver: [
        r"four tasks cost \d+\.\d\d times one task",
        r"1e-06 +1 +\d+\.\d\d .*\d$",
        r"^degree +8 +\d+\.\d\d",
    ],
    worm: [
        r"^\| split \| 100 \| 202 \| minisplice \| 0\.25 \|",
        r"^\| split \| 100 \| 202 \| minisplice -m16 -e50 \| 0\.25 \|",
        r"^\| split_random \| 160 \| 141 \| wd:8 \| 1 \| .* \d\S* \| \d\S* \|$",
        r"^\| split_random \| 160 \| 141 \| default \| .* \+0\.0000 \(\+0\.000\.\.\+0\.000\)",
    ],
    exon_effects: [
        r"^annotated site +\d exon  ( \d\.\d{3}){6} ",
        r"^acceptors, strongest candidates: AUROC, AUPRC alone / paired / exon \d\.\d{3} ",
        r"^of probability 0.9 to 1.0: \d, mean \d\.\d{3}, loss \d\.\d{3}, skipped \d",
    ],
    variants: [rf"^\| {n} \|( \d\S* \|){{4}}$" for n in (150, 20)],
}


@pytest.mark.parametrize("benchmark", FIGURES, ids=lambda function: function.__name__)
def test_benchmark_prints_its_figures(benchmark, tmp_path):
    printed = benchmark(tmp_path)
    for pattern in FIGURES[benchmark]:
        assert re.search(pattern, printed, re.MULTILINE), printed


@pytest.mark.parametrize("protein", [False, True])
def test_queries_of_aligners_diverge_as_asked(protein):
    diverge = runpy.run_path(str(FOLDER / "bench_aligners.py"))["diverge"]
    rng = np.random.default_rng(0)
    found = diverge("A" * 24_000, 0.3, rng, protein)
    assert len(found) == pytest.approx(24_000, rel=0.02)
    replaced = 1 - found.count("A") / len(found)
    assert replaced == pytest.approx(0.3, abs=0.03)
    assert set(found) == set("ARNDCQEGHILKMFPSTWYV" if protein else "ACGT")
    if protein:  # serine is the likeliest for alanine, tryptophan of the least likely
        assert found.count("S") > 5 * found.count("W")
    assert diverge(found, 0.0, rng, protein) == found


def test_documents_show_what_was_recorded():
    in_this_process(FOLDER / "tables.py", "--check")


def test_no_figure_of_a_table_is_typed():
    tables = runpy.run_path(str(FOLDER / "tables.py"))
    shown = set()
    for name in tables["DOCUMENTS"][:2]:
        text = (tables["ROOT"] / name).read_text(encoding="utf-8")
        rest = tables["BLOCK"].sub("", text)
        assert not re.findall(r"^ *\|.*\d.*$", rest, re.MULTILINE), name
        shown |= set(re.findall(r"`(\w+)\.json`", text))
    paths = {path.stem: path for path in tables["RESULTS"].glob("*.json")}
    assert shown == set(paths)
    for path in paths.values():
        result = json.loads(path.read_text(encoding="utf-8"))
        keys = {"rows", "command", "date", "seqmtl"}
        keys |= {"columns"} if result.get("transcribed") else {"machine", "load"}
        assert keys <= set(result), path
        assert not re.search(r"(^|[ '\"=])/", result["command"]), path  # of no machine


def test_a_template_takes_values_of_a_row_and_of_a_result():
    cells = runpy.run_path(str(FOLDER / "tables.py"))["Cells"]({"a_b": "A. b."})
    row = {"a": 0.5, "b": -0.0123, "c": "a_b", "d": "0.1 to 0.2", "e": 1234.5, "f": ""}
    assert cells.fill("{a:.2p} / {b:+.3p}", row) == ".50 / -.012"
    assert cells.fill("{c}: {d:p}", row) == "A. b.: .1 to .2"
    assert cells.fill("{e:,.1p}", row) == "1,234.5"
    assert cells.fill("{a}, {f}", row) == cells.fill("{g}", row) == ""
    assert cells.fill("{large/windows=1377151/published s:,}", {}) == "18,890"
    with pytest.raises(ValueError, match="values to unpack"):
        cells.fill("{few_labels/labels=100/mean}", {})


def test_every_benchmark_is_run():
    there = {path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py")}
    assert there == {function.__name__ for function in FIGURES}
