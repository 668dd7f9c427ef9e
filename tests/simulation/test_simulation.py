"""Simulated genomes, read back from their files by code of this file only."""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import json
import logging
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from Bio import Phylo
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl.exceptions import InputFormatError, MemoryLimitError
from seqmtl.simulation import default_tree, simulate, write_simulation
from seqmtl.simulation.trees import drift_traits, read_organisms
from tests.oracles.annotation import reverse_complement

TREE = "((a:0.05,b:0.05):0.4,c:0.9);"
SMALL = {"tree": TREE, "chromosome_length": 60_000, "n_windows": 150, "seed": 3}
SIGNALS = ("acceptor", "donor")


def read_fasta(path: Path) -> dict[str, str]:
    records = (record.split("\n") for record in path.read_text().split(">")[1:])
    return {name: "".join(lines) for name, *lines in records}


def read_rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]


def read_windows(folder: Path) -> list[dict[str, str]]:
    with gzip.open(folder / "windows.tsv.gz", "rt") as handle:
        header = handle.readline().rstrip("\n").split("\t")
        return [dict(zip(header, line.rstrip("\n").split("\t"), strict=True)) for line in handle]


def digest(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return folders with a small simulation of each signal."""
    path = tmp_path_factory.mktemp("simulated")
    for signal in SIGNALS:
        write_simulation(simulate(**SMALL, signal=signal, window=101), path / signal)
    return {signal: path / signal for signal in SIGNALS}


@pytest.fixture(params=SIGNALS)
def written(request, folders):
    """Return a folder with a small simulation of one signal, and the signal."""
    return folders[request.param], request.param


@pytest.fixture
def folder(folders):
    return folders["donor"]


# Files


def test_all_files_are_there_and_counted(written):
    folder, signal = written
    expected = {"windows.tsv.gz", "dataset.toml", "tree.nwk", "summary.json"}
    for organism in "abc":
        expected |= {f"genomes/{organism}.fa", f"annotation/{organism}.gff3"}
    assert set(digest(folder)) == expected
    leaves = Phylo.read(folder / "tree.nwk", "newick").get_terminals()
    assert [leaf.name for leaf in leaves] == ["a", "b", "c"]
    summary = json.loads((folder / "summary.json").read_text())
    rows = Counter((r["organism"], r["split"], r["label"]) for r in read_windows(folder))
    assert (summary["parameters"]["seed"], summary["parameters"]["signal"]) == (3, signal)
    for organism in "abc":
        of_organism, path = summary["organisms"][organism], folder / "genomes" / f"{organism}.fa"
        for split, numbers in of_organism["windows"].items():
            assert numbers["true"] == rows[organism, split, "1"]
            assert numbers["decoy"] == rows[organism, split, "-1"]
        assert of_organism["windows"]["train"] == {"true": 30, "decoy": 120}
        test = of_organism["windows"]["test"]
        assert test["decoy"] == 4 * test["true"]
        assert max(map(len, path.read_text().splitlines())) == 60
        contigs = read_fasta(path)
        assert [(name, len(bases)) for name, bases in contigs.items()] == [
            (f"chr{number}", 60_000) for number in (1, 2, 3)
        ]
        counts = Counter("".join(contigs.values()))
        assert set(counts) == set("ACGTNacgt")  # masked repeats and unknown bases
        assert 0 < counts["N"] < 0.02 * 180_000
        assert of_organism["masked_bases"] == sum(counts[letter] for letter in "acgt")
        assert 0.001 < of_organism["masked_bases"] / 180_000 < 0.2
        gc = sum(counts[letter] for letter in "CGcg") / (180_000 - counts["N"])
        assert of_organism["gc"] == round(gc, 4)


@dataclass
class Gene:
    """Spans of exons and of coding parts; the coding letters and phases, as transcribed."""

    contig: str
    strand: str
    exons: list[tuple[int, int]] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    coding: list[str] = field(default_factory=list)
    phases: list[int] = field(default_factory=list)


def genes_of(folder: Path, organism: str) -> dict[str, Gene]:
    contigs, genes = read_fasta(folder / "genomes" / f"{organism}.fa"), {}
    for contig, _, kind, start, end, _, strand, phase, text in read_rows(
        folder / "annotation" / f"{organism}.gff3"
    ):
        if kind in {"exon", "CDS"}:
            name = text.partition("Parent=")[2].removesuffix(".m")
            gene = genes.setdefault(name, Gene(contig, strand))
            span = int(start) - 1, int(end)
            (gene.exons if kind == "exon" else gene.spans).append(span)
            if kind == "CDS":
                part = contigs[contig][slice(*span)].upper()
                gene.coding.append(part if strand == "+" else reverse_complement(part))
                gene.phases.append(int(phase))
    return genes


def sites_of(genes: dict[str, Gene], signal: str) -> dict[str, tuple[str, int, int, str]]:
    """Derive all sites: name -> contig, start, end, strand."""
    sites = {}
    for name, gene in genes.items():
        spans, strand = sorted(gene.exons), gene.strand
        introns = [(left[1], right[0]) for left, right in itertools.pairwise(spans)]
        for number, (start, end) in enumerate(introns if strand == "+" else introns[::-1], 1):
            first = start if (signal == "donor") == (strand == "+") else end - 2
            sites[f"{name}.{number}"] = (gene.contig, first, first + 2, strand)
    return sites


def test_windows_are_cut_around_the_sites_of_the_annotation(written):
    folder, signal = written
    letters = {"acceptor": "AG", "donor": "GT"}[signal]
    rows, contigs = read_windows(folder), {"train": {"chr1", "chr2"}, "test": {"chr3"}}
    for organism in "abc":
        genome = read_fasta(folder / "genomes" / f"{organism}.fa")
        known = set(sites_of(genes_of(folder, organism), signal).values())
        taken = []
        for row in rows:
            if row["organism"] != organism:
                continue
            contig, strand, start = row["contig"], row["strand"], int(row["position"])
            assert contig in contigs[row["split"]]
            if strand == "+":
                left = start + 1 - 50
                window = genome[contig][left : left + 101]
            else:
                right = start + 1 + 50
                window = reverse_complement(genome[contig][right - 101 : right])
            assert row["sequence"] == window
            assert len(window) == 101
            assert window[49:51].upper() == letters
            taken.append((contig, start, start + 2, strand))
            assert (taken[-1] in known) == (row["label"] == "1")
        assert len({*taken}) == len(taken)
        assert {place for place in known if place[0] == "chr3"} <= {*taken}


def test_gff_is_valid(folder):
    for path in (folder / "annotation").iterdir():
        assert path.read_text().startswith("##gff-version 3\n##sequence-region chr1 1 60000\n")
        spans: dict[str, tuple[str, int, int, str]] = {}
        parents: dict[str, str] = {}
        for contig, source, kind, start, end, score, strand, phase, text in read_rows(path):
            assert (source, score) == ("seqmtl", ".")
            assert kind in {"gene", "mRNA", "exon", "CDS"}
            assert phase in (set("012") if kind == "CDS" else {"."})
            assert 1 <= int(start) <= int(end) <= 60_000
            attributes = dict(pair.split("=") for pair in text.split(";"))
            assert (attributes["ID"] in spans) <= (kind == "CDS")  # one of several exons
            spans[attributes["ID"]] = (contig, int(start), int(end), strand)
            if "Parent" in attributes:
                parents[attributes["ID"]] = attributes["Parent"]
        assert {strand for *_, strand in spans.values()} == {"+", "-"}
        for child, parent in parents.items():
            outer, inner = spans[parent], spans[child]
            assert (outer[0], outer[3]) == (inner[0], inner[3])
            assert outer[1] <= inner[1] <= inner[2] <= outer[2]


STOPS = ("TAA", "TAG", "TGA")


def test_genes_are_open_reading_frames_that_go_on_over_introns(folder):
    for organism in "abc":
        phases = Counter()
        for gene in genes_of(folder, organism).values():
            before = np.cumsum([0, *map(len, gene.coding)])[:-1]
            assert gene.phases == (-before % 3).tolist()
            phases.update(gene.phases)
            text = "".join(gene.coding)
            codons = [text[i : i + 3] for i in range(0, len(text), 3)]
            assert codons[0] == "ATG"
            assert [codon in STOPS for codon in codons] == [False] * (len(codons) - 1) + [True]
            exons, coding = (np.ravel(sorted(spans)) for spans in (gene.exons, gene.spans))
            assert exons[1:-1].tolist() == coding[1:-1].tolist()
            assert exons[0] + 20 <= coding[0] < coding[-1] <= exons[-1] - 20
        assert min(phases[n] for n in (0, 1, 2)) > 0.2 * phases.total()


# Determinism


def test_a_seed_gives_the_same_bytes_whatever_the_hash_seed(tmp_path):
    write_simulation(simulate(**SMALL), tmp_path / "here")
    program = (
        "import sys; from seqmtl.simulation import simulate, write_simulation;"
        f"write_simulation(simulate(**{SMALL!r}), sys.argv[1])"
    )
    command = [sys.executable, "-c", program, tmp_path / "there"]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], check=True)
    assert digest(tmp_path / "there") == digest(tmp_path / "here")
    first, second = simulate(**SMALL), simulate(**{**SMALL, "seed": 4})
    for one, other in zip(first.genomes, second.genomes, strict=True):
        assert np.mean(one.letters == other.letters) < 0.5
    made = [simulate(**SMALL, n_genes=30, signal=signal) for signal in SIGNALS]
    assert made[0].genomes[1].letters.tobytes() == made[1].genomes[1].letters.tobytes()


def test_fewer_windows_are_a_subset():
    options = {"seed": 2, "n_genes": 90, "chromosome_length": 90_000, "signal": "donor"}
    few, many = (simulate(TREE, n_windows={"a": n, "b": 0, "c": 50}, **options) for n in (40, 120))
    train = []
    for genome in (few.genomes[0], many.genomes[0]):
        columns = (genome.sites.starts, genome.sites.is_reverse, genome.sites["labels"])
        rows = zip(*columns, genome.is_test(), strict=True)
        train.append({row[:3] for row in rows if not row[3]})
    assert [len(rows) for rows in train] == [40, 120]
    assert train[0] < train[1]
    assert np.all(few.genomes[1].is_test())
    assert np.sum(~few.genomes[2].is_test()) == 50


# Biology


def test_close_leaves_have_more_similar_motifs():
    made = simulate(TREE, n_windows=1500, chromosome_length=150_000, window=150, drift=1.0)
    profiles = []
    for genome in made.genomes:
        is_true, windows = genome.sites["labels"] > 0, made.windows(genome) & 0xDF
        letters = windows[is_true, 40:115]
        profiles.append(np.stack([(letters == ord(c)).mean(axis=0) for c in "ACGT"]))
        is_y = np.isin(windows[:, 58:70], [ord("C"), ord("T")]).mean(axis=1)
        assert is_y[is_true].mean() > is_y[~is_true].mean() + 0.05  # a pyrimidine tract
    a, b, c = profiles
    assert np.abs(a - b).sum() < 0.7 * min(np.abs(a - c).sum(), np.abs(b - c).sum())


def test_traits_are_stationary_and_correlate_by_path_length():
    organisms, tree = read_organisms(None), Phylo.read(io.StringIO(default_tree()), "newick")
    leaves = tree.get_terminals()
    assert [leaf.name for leaf in leaves] == list(organisms.leaf_names)
    path = np.array([[tree.distance(one, other) for other in leaves] for one in leaves])
    for drift in (0.8, 0.0):
        traits = drift_traits(
            read_organisms(default_tree()), 100_000, drift, np.random.default_rng(1)
        )
        np.testing.assert_allclose(np.cov(traits), np.exp(-drift * path), atol=0.03)
    np.fill_diagonal(path, np.inf)  # two close pairs and an outgroup
    assert [int(row.argmin()) for row in path[:4]] == [1, 0, 3, 2]
    assert path[5].min() > path[4].min() > 3 * path[:4].min(axis=1).max()


def test_composition_is_not_uniform():
    made = simulate(TREE, seed=5, n_windows=100, chromosome_length=200_000)
    means = []
    for genome in made.genomes:
        text = genome.letters.tobytes().decode().upper()
        ones = Counter(text)
        excess = {
            first + second: count * len(text) / (ones[first] * ones[second])
            for (first, second), count in Counter(itertools.pairwise(text)).items()
        }
        assert excess["CG"] < 0.85
        assert min(excess["AA"], excess["TT"]) > 1.05
        is_gc = np.isin(genome.letters & 0xDF, [ord("C"), ord("G")])
        blocks = is_gc[: is_gc.size // 2000 * 2000].reshape(-1, 2000).mean(axis=1)
        assert blocks.std() > 2 * np.sqrt(0.25 / 2000)
        means.append(is_gc.mean())
    assert 0.25 < min(means) < max(means) < 0.6


def test_close_leaves_have_more_similar_codons_and_introns(tmp_path):
    made = simulate(
        "((a:0.02,b:0.02):2,c:2);", seed=1, n_windows=500, chromosome_length=300_000, drift=1.0
    )
    write_simulation(made, tmp_path)
    usage, medians, codons = [], [], ["".join(c) for c in itertools.product("ACGT", repeat=3)]
    for organism in "abc":
        lengths, counts = [], Counter()
        for gene in genes_of(tmp_path, organism).values():
            spans = sorted(gene.exons)
            lengths += [right[0] - left[1] for left, right in itertools.pairwise(spans)]
            before = 0
            for part in gene.coding:  # without the ends of exons, where motifs are
                first = 18 - (before + 18) % 3
                counts.update(part[i : i + 3] for i in range(first, len(part) - 18, 3))
                before += len(part)
        assert [counts[stop] for stop in STOPS] == [0, 0, 0]
        share = np.array([n / counts.total() for n in counts.values()])
        assert -(share * np.log2(share)).sum() < 5.6  # bits; alike would be 5.93
        usage.append([np.log((counts[c] + 1) / counts.total()) for c in codons if c not in STOPS])
        medians.append(np.median(lengths))
    a, b, c = usage
    assert np.corrcoef(a, b)[0, 1] > 0.9 > 0.6 > np.corrcoef(a, c)[0, 1]
    assert abs(medians[0] - medians[1]) < 5 < abs(medians[0] - medians[2])


# Properties


@settings(max_examples=8)
@given(
    seed=st.integers(0, 10**6),
    window=st.integers(2, 180),
    length=st.integers(30_000, 50_000),
    signal=st.sampled_from(SIGNALS),
    n_windows=st.integers(0, 40),
)
def test_windows_lie_inside_and_are_centred(seed, window, length, signal, n_windows):
    options = {"signal": signal, "n_windows": n_windows, "n_chromosomes": 2}
    made = simulate("(x,y:0.3);", seed=seed, window=window, chromosome_length=length, **options)
    letters = {"acceptor": b"AG", "donor": b"GT"}[signal]
    for genome in made.genomes:
        assert np.sum(~genome.is_test()) == n_windows
        windows = made.windows(genome)
        assert windows.shape == (len(genome.sites), window)
        middle = windows[:, window // 2 - 1 : window // 2 + 1] & 0xDF
        assert np.all(middle == np.frombuffer(letters, dtype=np.uint8))
        first = np.minimum(genome.sites.starts - window // 2, genome.sites.starts)
        last = genome.sites.starts + window // 2 + 1
        chromosome = genome.contig_index()
        assert np.all(first >= genome.offsets[chromosome])
        assert np.all(last <= genome.offsets[chromosome + 1])


# Trees


def test_trees_of_organisms(tmp_path, caplog):
    path = tmp_path / "tree.nwk"
    path.write_text(TREE)
    made = simulate(path, n_windows=20, chromosome_length=30_000)
    assert made.newick == "((a:0.05,b:0.05):0.4,c:0.9):0.0;\n"
    made = simulate("solo;", n_windows=20, chromosome_length=30_000)
    assert [genome.organism for genome in made.genomes] == ["solo"]
    with caplog.at_level(logging.WARNING, logger="seqmtl"):
        tree = read_organisms("((a,b):0.5,c:2);")
        assert "text: branches without a length, counted as 1: 2" in caplog.text
        assert tree.lengths[tree.leaves].tolist() == [1.0, 1.0, 2.0]
        assert read_organisms("((a,b),c);").lengths.tolist() == [0, 1, 1, 1, 1]
    assert "text: no branch has a length; each counts as 1" in caplog.text


def test_names_of_organisms_are_printable():
    message = "is not a Newick tree: it contains zero bytes or other control characters"
    with pytest.raises(InputFormatError, match=message):
        simulate("('a\x07':1,c:1);")


# Parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": 1.5}, "seed must be an integer of at least 0, got 1.5"),
        ({"n_chromosomes": 1}, "n_chromosomes must be an integer of at least 2"),
        ({"chromosome_length": 0}, "chromosome_length must be an integer of at least 1"),
        ({"n_genes": 0}, "n_genes must be an integer of at least 1"),
        ({"n_windows": -1}, "n_windows must be an integer of at least 0"),
        ({"n_windows": {"b": "x"}}, "n_windows of b must be an integer of at least 0"),
        ({"n_windows": {"z": 5}}, "n_windows must name leaves of the tree, got 'z'"),
        ({"window": 1}, "window must be an integer of at least 2"),
        ({"signal": "polyA"}, "signal must be one of acceptor, donor, got 'polyA'"),
        ({"decoys_per_site": 0}, "decoys_per_site must be an integer of at least 1"),
        ({"drift": -0.1}, "drift must be a finite number of at least 0"),
        ({"drift": float("nan")}, "drift must be a finite number of at least 0"),
        ({"chromosome_length": 5000}, "chromosome_length must be at least .* got 5000"),
        ({"n_genes": 3}, "n_windows of a must need at most .* true sites, got 200"),
        ({"decoys_per_site": 500}, "number of decoys must be at most .* in one organism"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        simulate(TREE, **{"chromosome_length": 100_000, **parameters})


# Writing


def test_file_names_are_safe(tmp_path):
    tree = "('Homo sapiens/x':1,'../up':1,'-o':1,O:1);"
    write_simulation(simulate(tree, n_windows=20, chromosome_length=30_000), tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out" / "genomes").iterdir())
    assert names == ["Homo_sapiens_x.fa", "O_2.fa", "_up.fa", "o.fa"]
    rows = read_windows(tmp_path / "out")
    assert {row["organism"] for row in rows} == {"Homo sapiens/x", "../up", "-o", "O"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_files_of_a_simulation_are_replaced(tmp_path):
    small = {"n_windows": np.int64(20), "chromosome_length": np.int32(30_000)}
    write_simulation(simulate("(a:1,b:1);", **small), tmp_path)
    before = digest(tmp_path)
    write_simulation(simulate("(a:1,b:1);", **small, seed=9), tmp_path)
    after = digest(tmp_path)
    assert set(after) == set(before)
    assert before["genomes/a.fa"] != after["genomes/a.fa"]
    with pytest.raises(ValueError, match=r"no files of another simulation, got .*b\.gff3"):
        write_simulation(simulate("(a:1,c:1);", **small), tmp_path)
    assert digest(tmp_path) == after


@pytest.mark.parametrize("name", ["summary.json", "genomes/a.fa"])
def test_files_of_a_user_are_not_replaced(tmp_path, seqmtl, monkeypatch, name):
    """``seqmtl simulate -o .`` in a folder of one's own work."""
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text("of the user")
    monkeypatch.setattr("seqmtl.simulation.simulate", lambda *_, **__: pytest.fail("work was done"))
    options = "--tree '(a:1,b:1);' --chromosome-length 30000 --windows 20"
    for command in (f"simulate -o {tmp_path}/mine {options}", f"demo -o {tmp_path}/mine"):
        shown = seqmtl(command, 1).err.replace("\n", " ")
        assert f"must hold no other files of these names, got {path}; remove it or" in shown
    assert digest(tmp_path) == {f"mine/{name}": hashlib.sha256(b"of the user").hexdigest()}


def test_a_demonstration_replaces_only_its_own_files(tmp_path, seqmtl):
    (tmp_path / "donor.seqmtl").write_text("of the user")
    shown = seqmtl(f"demo -o {tmp_path}", 1).err
    assert "must be empty or of an earlier demonstration, but it has donor.seqmtl" in shown
    assert [path.name for path in tmp_path.iterdir()] == ["donor.seqmtl"]


def test_genomes_that_do_not_fit_into_memory_are_refused_before(monkeypatch):
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 10**6)
    with pytest.raises(MemoryLimitError, match="simulating 1,200,000 bases"):
        simulate("(a:0.1,b:0.4);")
