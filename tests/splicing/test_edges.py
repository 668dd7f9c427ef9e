"""Edges of genes in the chain: start and stop codons, and models of them."""

import copy
import itertools
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.exceptions import ModelFileError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.io.genome import ContigPiece, load_genome
from seqmtl.loading import load
from seqmtl.sequences import encode
from seqmtl.sequences.sites import Sites
from seqmtl.splicing import PairedFinder, fit, fit_layer, start_codons
from seqmtl.splicing.candidates import edge_finders, find_edges
from seqmtl.splicing.layer import EDGES, ENDS, Edge
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.new_organism import add_unlabelled
from tests import mutations
from tests.invocation import rows_of, run, sites_in
from tests.oracles.pairs import codons, whole_contig


@pytest.fixture(scope="module")
def genes(case, tmp_path_factory):
    """The paired model of `case` with models of edges: stop of both organisms, start of a."""
    folder, options = tmp_path_factory.mktemp("edges"), ""
    for signal in EDGES:
        data, model = folder / f"{signal}s", folder / signal
        config = case / "sim" / ("dataset.toml" if signal == "stop" else "a.toml")
        run(f"dataset {config} --signal {signal} -o {data}")
        run(f"train {data} --selection none --features wd:4 -C 10 --window 31 -o {model}")
        run(f"calibrate {model} {data} -o {model}")
        options += f" --boundary-model {model}"
    inputs = f"{case}/donor {case}/acceptor {case}/donors {case}/acceptors"
    run(f"pair {inputs} {options} -o {folder}/genes")
    return folder


def test_codons_are_those_in_the_letters(case):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 3_000).astype(np.uint8)
    codes[rng.integers(0, 3_000, 40)] = 4
    layer = load(case / "splice").layer_of("a")
    edges = edge_finders(layer, {}, "a")
    like = Sites(np.zeros(0, np.int64), np.zeros(0, bool), {"log_odds": np.zeros(0, np.float32)})
    assert [edge.signal for edge in edges] == ["start", "stop"]
    for begin, end in ((-50, 5_000), (1_200, 1_300), (1_500, 1_500), (200, 900), (4_100, 5_000)):
        found = find_edges(edges, ContigPiece("c", 1_000, codes), begin, end, like)
        for signal, own in found.items():
            expected = codons(codes, signal)
            starts = expected.starts + 1_000
            rows = np.flatnonzero((starts >= begin) & (starts < end))
            rows = rows[np.lexsort([starts[rows], expected.is_reverse[rows]])]
            assert_array_equal(own.starts, starts[rows])
            assert_array_equal(own.is_reverse, expected.is_reverse[rows])
            assert_allclose(own["log_odds"], expected["log_odds"][rows], atol=1e-12)
    piece = ContigPiece("c", 0, encode("CTGAATAAATAGATTACCTATCA"))  # one of each on either strand
    for stops, starts in ((("TGA",), [1, 20]), (("TAA", "TAG"), [5, 9, 13, 17])):
        edges = edge_finders(layer._replace(stops=stops), {}, "a")
        assert_array_equal(find_edges(edges, piece, 0, 23, like)["stop"].starts, starts)


def test_all_signals_are_scanned_and_equal_one_chain_over_the_contig(case, genes):
    """An organism that a model lacks goes without: start codons of b are alike."""
    model = load(genes / "genes")
    genome = load_genome(case / "sim/genomes/a.fa", padding=1)
    for organism, signals in (("a", [*ENDS, *EDGES]), ("b", [*ENDS, "stop"])):
        command = f"scan {genes}/genes {case}/sim/genomes/a.fa --organism {organism}"
        run(f"{command} -o {genes}/{organism}.bed")
        expected, _ = whole_contig(model, organism, genome.contig("chr1"))
        for signal in signals:
            found = sites_in(genes / f"{organism}.{signal}.bed")
            own = {
                ("chr1", *key[1:]): p
                for key, p in expected.items()
                if key[0] == signal and p > 1e-5
            }
            assert found.keys() >= own.keys()
            assert all(found[key] == pytest.approx(p, abs=1e-5) for key, p in own.items())
            assert sum(p > 0.1 for p in found.values()) > 5
    assert not (genes / "b.start.bed").exists()
    run(f"evaluate {genes}/genes {case}/donors {case}/acceptors --bootstrap 0")
    command = f"scan {genes}/genes {case}/sim/genomes/a.fa --organism a"
    run(f"{command} -o {genes}/x.spsc --json {genes}/x.json")
    assert {row[3] for row in rows_of(genes / "x.spsc")} == {"D", "A"}
    run(f"{command} -o {genes}/a.bed")
    n_sites = sum(len(rows_of(genes / f"a.{end}.bed")) for end in ENDS)  # edges are not counted
    assert json.loads((genes / "x.json").read_text())["scans"][0]["n_candidates"] == n_sites


def test_models_of_edges_are_in_the_file_and_in_words(genes, seqmtl):
    first = load(genes / "genes")
    first.save(genes / "again")
    assert (genes / "again").read_bytes() == (genes / "genes").read_bytes()
    assert list(first.site_models) == [*ENDS, *EDGES]
    assert [edge.signal for edge in first.layer["b"].edges] == list(EDGES)
    told = seqmtl(f"info {genes / 'genes'}").out
    assert "in pairs, with models of start, stop sites" in told
    assert all(f"the {signal} sites of" in told for signal in first.site_models)
    facts = json.loads(seqmtl(f"info {genes / 'genes'} --json -").out)
    assert (facts["start"]["tasks"], facts["stop"]["tasks"]) == (["a"], ["a", "b"])
    edges = [edge._asdict() for edge in first.layer["a"].edges]
    assert facts["layer"]["a"]["edges"] == edges


def test_what_is_no_edge_is_refused(case, genes, seqmtl):
    header, arrays = read_arrays(genes / "start")
    renamed = json.loads(json.dumps(header).replace('"a"', '"z"'))
    write_arrays(genes / "of_z", renamed, arrays)
    start = f"{genes}/start"
    none = "of_z has none of the organisms of the donor model (a, b); leave it out"
    for models, code, message in (
        ([f"{case}/donor"], 1, "must be a classifier of start or stop sites"),
        ([start, start], 2, "second model of start sites"),
        ([f"{genes}/of_z"], 1, none),
        ([start], 0, "lacks b and is not used there"),
    ):
        assert not (genes / "x").exists()
        options = "".join(f" --boundary-model {model}" for model in models)
        inputs = f"{case}/donor {case}/acceptor {case}/donors {case}/acceptors"
        assert message in seqmtl(f"pair {inputs} -o {genes}/x {options}", code).err


def test_an_organism_that_a_model_lacks_weighs_its_codons_as_without_models(
    case, genes, monkeypatch
):
    donor, acceptor, start = (
        load(path) for path in (case / "donor", case / "acceptor", genes / "start")
    )
    monkeypatch.setattr(fit, "_GAIN", 1e-6)  # values at the optimum
    no_letters = np.zeros_like(start_codons.LOG_RATIOS)  # those of simulated genes are random
    monkeypatch.setattr(start_codons, "LOG_RATIOS", no_letters)
    alone, beside = (
        fit_layer(donor, acceptor, case / "donors", case / "acceptors", edges=edges)["b"].edges[0]
        for edges in ({}, {"start": start})
    )
    assert (alone.signal, alone.has_model, beside.has_model) == ("start", False, False)
    assert beside.shift == pytest.approx(alone.shift, abs=0.1)


def test_a_layer_needs_the_models_that_it_was_fitted_with(genes, refused):
    model = load(genes / "genes")
    ends = model.donor, model.acceptor, model.layer
    for lacking in EDGES:
        edges = {signal: own for signal, own in model.edges.items() if signal != lacking}
        message = rf"layer\.a\.edges must be those that edges has a model of, got '{lacking}'"
        with pytest.raises(ValueError, match=message):
            PairedModel(*ends, edges=edges)

        def without(header, arrays, lacking=lacking):
            del header[lacking]
            for name in [name for name in arrays if name.startswith(f"{lacking}.")]:
                del arrays[name]

        refused(genes / "genes", without, message)
    alike = model.layer["b"]._replace(edges=(Edge("start", 0.5, 0.0, -1e9),))
    with pytest.raises(ValueError, match=r"layer\.b\.edges must be"):
        PairedModel(*ends[:2], {**model.layer, "b": alike}, edges=model.edges)


def test_an_organism_without_labels_leaves_the_others_their_edges(case, genes, tmp_path):
    genome = case / "sim/genomes/b.fa"
    own = add_unlabelled(load(genes / "genes"), "c", str(genome), "a")
    own.paired().save(tmp_path / "more")
    model = load(tmp_path / "more")
    assert list(model.edges) == list(EDGES)
    assert model.signals_of("c") == [*ENDS]
    scales = {edge.signal: edge.scale for edge in model.layer["c"].edges}
    assert scales == dict.fromkeys(EDGES, 0.0)
    for name, given in (("before", genes / "genes"), ("after", tmp_path / "more")):
        options = f"--organism a -o {tmp_path}/{name}.bed"
        run(f"scan {given} {case}/sim/genomes/a.fa {options}")
    for signal in load(genes / "genes").site_models:
        before, after = (
            sites_in(tmp_path / f"{name}.{signal}.bed") for name in ("before", "after")
        )
        assert before == pytest.approx(after, abs=1e-4)


def _arrays_with(arrays):
    """Yield a name of each change of one or all values of an array of the layer, and the change."""
    for name, what in itertools.product(("introns", "coding", "exons"), ("one", "all")):
        for value in (3e38, -3e38, 700.0, -50.0, 1.0):

            def change(_, own, name=name, what=what, value=value):
                own[name] = own[name].copy()
                own[name].reshape(-1)[slice(None) if what == "all" else 1] = value

            if name in arrays:
                yield f"{what} of {name} = {value}", change


@pytest.mark.filterwarnings("error")
def test_a_changed_layer_is_refused_or_scans_with_finite_numbers(
    genes, case, tmp_path, monkeypatch
):
    """A model file that was edited, or written by another program: no traceback in a scan."""
    more = (0, 1e-300, 50, 1000, 1e6, -1e300, "tss", "start")
    monkeypatch.setattr(mutations, "VALUES", (*mutations.VALUES, *more))
    header, arrays = mutations.read((genes / "genes").read_bytes())
    own = {name: array for name, array in arrays.items() if "." not in name}
    changes = [*mutations._of_header({"layer": header["layer"]}), *mutations._of_arrays(own)]
    drawn = [changes[i] for i in np.random.default_rng(0).permutation(len(changes))[:60]]
    codes = load_genome(case / "sim/genomes/a.fa", padding=1).codes[1:4_001]
    counts = {"refused": 0, "taken": 0}
    for name, change in [*drawn, *_arrays_with(arrays)]:
        changed, own = copy.deepcopy(header), dict(arrays)
        change(changed, own)
        path = tmp_path / "changed"
        path.write_bytes(mutations.write(changed, own))
        try:
            model = load(path)
        except ModelFileError as error:
            counts["refused"] += str(error).startswith(f"{path}: ")
            continue
        counts["taken"] += 1
        model.text(str(path)), json.dumps(model.describe(), allow_nan=False)
        for organism in model.tasks:
            found = PairedFinder(model, organism, introns=0.1).find(
                ContigPiece("c", 0, codes), 0, codes.size
            )
            for sites in found.values():
                assert all(np.isfinite(column).all() for column in sites.columns.values()), name
    assert sum(counts.values()) == len(drawn) + 30
    assert counts["refused"] > counts["taken"] > 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signal": "start"}, r"layer\.a\.edges must be of different signals, got "),
        ({"signal": "tss"}, r"layer\.a\.edges\[1\]\.signal must be one of start, stop, got 'tss'"),
        ({"shift": 1e6}, r"layer\.a\.edges\[1\]\.shift must be a number from -150 to 150, got "),
    ],
)
def test_an_edge_that_is_none_is_refused(genes, tmp_path, refused, change, message):
    def edit(header, arrays):
        assert header["layer"]["a"]["edges"][1]["signal"] == "stop"
        header["layer"]["a"]["edges"][1] |= change

    refused(genes / "genes", edit, f"^{tmp_path}/bad: {message}")
