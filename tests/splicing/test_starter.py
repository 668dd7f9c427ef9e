"""The starter models are complete, small, and as accurate as their page says."""

import importlib.util
import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from seqmtl import Windows, load
from seqmtl.commands.main import main
from seqmtl.exceptions import ModelFileError
from seqmtl.files.model_file import read_arrays, write_arrays

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "seqmtl" / "starter"
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")
SIGNALS = {"donor": "GT", "acceptor": "AG"}
GENOMES = (
    "a_thaliana",
    "c_elegans",
    "d_melanogaster",
    "f_catus",
    "h_sapiens",
    "m_musculus",
    "p_falciparum",
    "s_cerevisiae",
)
OTHERS = ("a_mellifera", "z_mays", "d_rerio", "a_coremiiformis", "coturnix_japonica", "m_gigas")
LIMIT = 5e6  # bytes

#: Organism, training sites, accuracy of donors and of acceptors, and if left out, in the card.
FIGURES = re.compile(
    r"^\| ([a-z_]+) \| [\d,]+ / [\d,]+ \| (0\.\d+|1\.000) \((0\.\d+|1\.000)\) "
    r"\| (0\.\d+|1\.000) \((0\.\d+|1\.000)\) \| ([a-z_]+), ([\d.,]+) \|$",
    re.MULTILINE,
)


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_starter_model_is_small_and_complete(signal):
    assert (FOLDER / f"{signal}.seqmtl").stat().st_size <= LIMIT
    model = load(f"starter:{signal}")
    assert len(model.tasks) == 84
    assert set(model.tasks) > {*GENOMES, *OTHERS}
    assert model.site.letters == SIGNALS[signal]
    assert model.site.kind == signal
    assert set(model.curves) == set(model.tasks)
    assert not re.search(r"(^|['\" ])/", str(model.training["sources"]))  # no machine's paths
    assert set(model.training["left_out"]) == set(model.tasks)


def test_the_paired_starter_model_is_of_the_other_two(tmp_path):
    assert sum(path.stat().st_size for path in FOLDER.glob("*.seqmtl")) < 20e6
    model = load("starter:splice")
    assert model.tasks == tuple(model.layer) == load("starter:donor").tasks
    assert all(layer.donors[0].letters == "GC" for layer in model.layer.values())
    without = {name for name, layer in model.layer.items() if layer.u12 is None}
    assert len(without) == 13
    assert without > {"c_elegans", "d_melanogaster", "p_falciparum", "s_cerevisiae"}
    assert model.training.keys() == {"split", "precision"}
    assert all(
        {*facts["organisms"]} <= {*model.tasks} for facts in model.training["precision"].values()
    )
    for signal in SIGNALS:
        own, site_model = getattr(model, signal), load(f"starter:{signal}")
        assert np.array_equal(own.bias, site_model.bias)
        assert own.training == site_model.training
    model.save(tmp_path / "whole.seqmtl")  # which holds its parts
    assert load(tmp_path / "whole.seqmtl").layer_facts() == model.layer_facts()
    header, arrays = read_arrays(FOLDER / "splice.seqmtl")
    write_arrays(tmp_path / "bad.seqmtl", header | {"donor": {"starter": "tss"}}, arrays)
    with pytest.raises(ModelFileError, match=r"starter:tss.*is not a shipped model"):
        load(tmp_path / "bad.seqmtl")


def test_the_paired_starter_model_finds_an_intron(tmp_path):
    rng = np.random.default_rng(1)
    codons = [c for c in map("".join, product("ACGT", repeat=3)) if c not in ("TAA", "TAG", "TGA")]
    exons = ["".join(rng.choice(codons, 100)) for _ in range(2)]
    inside = "".join(rng.choice(list("ACTT"), 60))
    text = f"{exons[0]}CAGGTAAGTT{inside}TTTTTTTTTCAG{exons[1]}"
    (tmp_path / "genome.fa").write_text(f">c\n{text}\n")
    out = tmp_path / "introns.bed"
    words = ["scan", "starter:splice", tmp_path / "genome.fa", "--organism", "c_elegans"]
    assert main([*map(str, words), "--format", "introns", "-o", str(out), "-q"]) == 0
    rows = [line.split("\t") for line in out.read_text().splitlines() if line[0] != "#"]
    assert ["c", "303", str(303 + 7 + 60 + 12), "+"] in [[*row[:3], row[5]] for row in rows]


@pytest.mark.parametrize(
    ("signal", "consensus", "at"),
    [("donor", "CAGGTAAGT", 3), ("acceptor", "TTTTTTTCTTTTTCAGG", 14)],
)
def test_a_consensus_site_beats_nearly_all_random_ones(signal, consensus, at):
    rng = np.random.default_rng(4)
    model = load(f"starter:{signal}")
    first = model.site.offset
    texts = ["".join(row) for row in rng.choice(list("ACGT"), (400, model.length))]
    plain = [f"{t[:first]}{SIGNALS[signal]}{t[first + 2 :]}" for t in texts]
    begin = first - at
    sites = [f"{t[:begin]}{consensus}{t[begin + len(consensus) :]}" for t in texts]
    for organism in ("a_thaliana", "c_elegans", "d_melanogaster"):
        scores = [
            model.decision_function(Windows.from_strings(rows), organism) for rows in (plain, sites)
        ]
        assert np.mean(scores[1] > scores[0]) > 0.97


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_page_has_the_accuracy_of_every_organism(signal):
    model, at = load(f"starter:{signal}"), list(SIGNALS).index(signal)
    rows = {name: figures for name, *figures in FIGURES.findall(CARD)}
    assert rows.keys() == set(model.tasks)
    for name, entry in model.training["left_out"].items():
        assert [entry["own"], entry["auprc"]] == pytest.approx(
            [float(value) for value in rows[name][2 * at : 2 * at + 2]], abs=6e-4
        )
        years = float(rows[name][5].replace(",", ""))
        assert (rows[name][4], 2 * years) == (
            entry["nearest"],
            pytest.approx(entry["distance"], 0.1),
        )


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_accuracy_on_the_page_is_that_of_the_file(signal, shared_data):
    place = ROOT / "examples" / "04_starter_models.py"
    spec = importlib.util.spec_from_file_location("starter_models", place)
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    if not (shared_data / "intron90").exists():
        pytest.skip("no intron90")
    model = load(f"starter:{signal}")
    n_checked = 0
    for name, rows in script.rows_of_introns(shared_data, signal, "test"):
        if name not in GENOMES:
            rows = script.measured(script.some(rows, script.MAX_SITES, 4_000))
            value = average_precision_score(rows.labels, model.decision_function(rows, name))
            assert value == pytest.approx(model.training["left_out"][name]["own"], abs=6e-5)
            n_checked += 1
    assert n_checked == 76


@pytest.mark.parametrize(("organism", "is_there"), [("h_sapiens", True), ("c_elegans", False)])
def test_an_at_ac_intron_is_found_where_there_are_any(tmp_path, organism, is_there):
    rng = np.random.default_rng(2)
    codons = [c for c in map("".join, product("ACGT", repeat=3)) if c not in ("TAA", "TAG", "TGA")]
    exons = ["".join(rng.choice(codons, 100)) for _ in range(2)]
    inside = "".join(rng.choice(list("ACTG"), 150))
    intron = f"ATATCCTTTT{inside}TTTTCCTTAACTCTTTTGCAC"
    (tmp_path / "genome.fa").write_text(f">c\n{exons[0]}CAG{intron}{exons[1]}\n")
    words = ["scan", "starter:splice", tmp_path / "genome.fa", "--organism", organism]
    out = tmp_path / "introns.gff3"
    assert main([*map(str, words), "--format", "introns", "-o", str(out), "-q"]) == 0
    rows = [line.split("\t") for line in out.read_text().splitlines() if line[0] != "#"]
    found = [row for row in rows if row[3:5] == ["304", str(303 + len(intron))]]
    assert bool(found) == is_there
    assert all(row[8].endswith(";type=U12") for row in found)
