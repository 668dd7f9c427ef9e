"""Edges of genes in the chain: start and stop codons, and models of what begins and ends there."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from seqmtl.cli.main import main
from seqmtl.io.genome import ContigPiece, load_genome
from seqmtl.models.pair_layer import CODONS, ENDS
from seqmtl.models.saved import load_model
from seqmtl.pairs.candidates import edge_finders, find_edges
from seqmtl.sequences.sites import Sites
from tests.oracles.pairs import codons, whole_contig


def _run(*arguments):
    return main([*map(str, arguments), "-q"])


def _rows(path):
    lines = path.read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


@pytest.fixture(scope="module")
def genes(case, tmp_path_factory):
    """The paired model of `case` with calibrated models of all edges of genes, of its genomes."""
    folder, options = tmp_path_factory.mktemp("edges"), []
    for signal in ("start", "stop", "polya"):
        data, model = folder / f"{signal}s", folder / signal
        config = case / "sim" / ("dataset.toml" if signal != "polya" else "a.toml")
        assert _run("dataset", config, "--signal", signal, "-o", data) == 0
        assert _run("train", data, "--selection", "none", "--features", "wd:4", "-C", 10,
                    "--window", 31, "-o", model) == 0  # fmt: skip
        assert _run("calibrate", model, data, "-o", model) == 0
        options += ["--edge", model]
    inputs = [case / name for name in ("donor", "acceptor", "donors", "acceptors")]
    assert _run("pair", *inputs, *options, "-o", folder / "genes") == 0
    return folder


def test_codons_are_those_in_the_letters(case):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 3_000).astype(np.uint8)
    codes[rng.integers(0, 3_000, 40)] = 4
    edges = edge_finders(load_model(case / "splice").layer_of("a"), {}, "a")
    like = Sites(np.zeros(0, np.int64), np.zeros(0, bool), {"log_odds": np.zeros(0, np.float32)})
    assert [edge.signal for edge in edges] == ["start", "stop"]
    for begin, end in ((-50, 5_000), (1_200, 1_300), (1_500, 1_500)):
        found = find_edges(edges, ContigPiece("c", 1_000, codes, True), begin, end, like)
        for signal, own in found.items():
            expected = codons(codes, signal)
            starts = expected.starts + 1_000
            rows = np.flatnonzero((starts >= begin) & (starts < end))
            rows = rows[np.lexsort([starts[rows], expected.is_reverse[rows]])]
            assert_array_equal(own.starts, starts[rows])
            assert_array_equal(own.is_reverse, expected.is_reverse[rows])
            assert_array_equal(own["log_odds"], np.zeros(rows.size))


def test_all_signals_are_scanned_and_equal_one_chain_over_the_contig(case, genes):
    """An organism that a model lacks goes without: there is no polyA model of b."""
    model = load_model(genes / "genes")
    genome = load_genome(case / "sim/genomes/a.fa", padding=1)
    for organism, signals in (("a", [*ENDS, "start", "stop", "polya"]), ("b", [*ENDS, *CODONS])):
        output = genes / f"{organism}.bed"
        command = ("scan", genes / "genes", case / "sim/genomes/a.fa", "--organism", organism)
        assert _run(*command, "--contigs", "chr1", "-o", output) == 0
        expected, _ = whole_contig(model, organism, genome.contig("chr1"))
        for signal in signals:
            rows = _rows(genes / f"{organism}.{signal}.bed")
            found = {(signal, int(row[1]), row[5]): float(row[7]) for row in rows}
            own = {key: p for key, p in expected.items() if key[0] == signal and p > 1e-5}
            assert found.keys() >= own.keys()
            assert all(found[key] == pytest.approx(p, abs=1e-5) for key, p in own.items())
            assert signal == "polya" or sum(p > 0.1 for p in found.values()) > 5
        assert not (genes / f"{organism}.tss.bed").exists()
    assert not (genes / "b.polya.bed").exists()
    command = ("scan", genes / "genes", case / "sim/genomes/a.fa", "--organism", "a")
    assert _run(*command, "-o", genes / "x.spsc") == 0
    assert {row[3] for row in _rows(genes / "x.spsc")} == {"D", "A"}


def test_models_of_edges_are_in_the_file_and_in_words(case, genes, seqmtl):
    first = load_model(genes / "genes")
    first.save(genes / "again")
    assert (genes / "again").read_bytes() == (genes / "genes").read_bytes()
    assert list(first.site_models) == [*ENDS, "start", "stop", "polya"]
    assert [edge.signal for edge in first.layer["b"].edges] == list(CODONS)
    told = seqmtl(f"info {genes / 'genes'}").out
    assert all(f"the {signal}s of" in told for signal in first.site_models)
    facts = json.loads(seqmtl(f"info {genes / 'genes'} --json").out)
    assert facts["start"]["tasks"] == ["a", "b"]
    written = seqmtl(f"scan {genes / 'genes'} {case}/sim/genomes/a.fa --organism a --format all "
                     f"-o {genes / 'all'} -q")  # fmt: skip
    assert not written.err
    assert {path.name for path in genes.glob("all.*.bed.gz")} == {
        f"all.{signal}.bed.gz" for signal in first.site_models
    }


def test_what_is_no_edge_is_refused(case, genes, seqmtl):
    pair = f"pair {case}/donor {case}/acceptor {case}/donors {case}/acceptors -o {genes}/x"
    told = seqmtl(f"{pair} --edge {case}/donor", code=1).err
    assert "must be a classifier of start, stop, tss or polya sites" in told
    told = seqmtl(f"{pair} --edge {genes}/start --edge {genes}/start", code=2).err
    assert "is a second model of start sites" in told
    assert not (genes / "x").exists()
    told = seqmtl(f"{pair} --edge {genes}/polya --split test").err
    assert "has no b, so its edges are not used there" in told
