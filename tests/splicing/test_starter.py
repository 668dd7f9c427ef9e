"""The starter models are complete, small, and as accurate as their page says."""

import importlib.util
import re
import sys
from itertools import chain, product
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from seqmtl import load
from tests.invocation import rows_of, run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "seqmtl" / "starter"
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")
SIGNALS = {"donor": "GT", "acceptor": "AG"}
GENOMES = (
    "a_thaliana c_elegans d_melanogaster f_catus h_sapiens m_musculus p_falciparum s_cerevisiae"
).split()
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


def test_the_paired_starter_model_is_of_the_other_two(tmp_path, refused):
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
    damage = {"donor": {"starter": "tss"}}
    message = r"starter:tss.*is not a shipped model"
    refused(FOLDER / "splice.seqmtl", lambda header, _: header.update(damage), message)


@pytest.mark.parametrize(
    ("organism", "ends", "is_there"),
    [
        ("c_elegans", ("GTAAGTT", "TTTTTTTTTCAG"), True),
        ("h_sapiens", ("ATATCCTTTT", "TTTTCCTTAACTCTTTTGCAC"), True),  # of AT-AC
        ("c_elegans", ("ATATCCTTTT", "TTTTCCTTAACTCTTTTGCAC"), False),
    ],
)
def test_an_intron_is_found_where_there_are_any(tmp_path, organism, ends, is_there):
    rng = np.random.default_rng(2)
    codons = [c for c in map("".join, product("ACGT", repeat=3)) if c not in ("TAA", "TAG", "TGA")]
    exons = ["".join(rng.choice(codons, 100)) for _ in range(2)]
    intron = "".join(rng.choice(list("ACTG"), 150)).join(ends)
    (tmp_path / "genome.fa").write_text(f">c\n{exons[0]}CAG{intron}{exons[1]}\n")
    out = tmp_path / "introns.gff3"
    run(f"scan starter:splice {tmp_path}/genome.fa --organism {organism} --format introns -o {out}")
    rows = {tuple(row[3:7:3] + row[4:5]): row[8] for row in rows_of(out)}
    name = rows.get(("304", "+", str(303 + len(intron))))
    assert (name is not None) == is_there
    assert name is None or name.endswith(";type=U12") == ends[0].startswith("AT")


def test_introns_of_genes_whose_stop_codons_code_are_found_where_the_taxon_has_such_genes():
    rng = np.random.default_rng(0)
    codons = "GAA AAA AAT GAT ATT TTT TTA AAG CAA TCA ACA GTT TAA TAG".split()
    shares = np.array([12, 13, 10, 10, 8, 6, 6, 5, 4, 6, 5, 5, 7, 3]) / 100
    ends, n_found = ("GTAAGT", "TTTATTTTTCAG"), {"Tetrahymena": 0, "Plasmodium vivax": 0}
    model = load("starter:splice")
    predictors = {like: model.predictor(like=like) for like in n_found}
    for _ in range(4):
        exons = ["".join(rng.choice(codons, 100, p=shares)) for _ in range(6)]
        introns = ["".join(rng.choice([*"ATATATATAC"], 60)).join(ends) for _ in range(5)]
        parts = ["ATG", *chain(*zip(exons, [*introns, "TGA"], strict=True))]
        bounds = np.cumsum([len(part) for part in parts]).tolist()
        true = {(bounds[k], bounds[k + 1], "+") for k in range(1, 11, 2)}
        for like, predictor in predictors.items():
            _, calls = predictor("".join(parts))
            calls = calls[calls["probability"] >= 0.5]
            n_found[like] += len(true & {*calls[["start", "end", "strand"]].tolist()})
    assert n_found["Tetrahymena"] >= 16
    assert n_found["Plasmodium vivax"] <= 10


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_page_has_the_accuracy_of_every_organism(signal):
    model, at = load(f"starter:{signal}"), list(SIGNALS).index(signal)
    rows = {name: figures for name, *figures in FIGURES.findall(CARD)}
    assert rows.keys() == set(model.tasks)
    for name, entry in model.training["left_out"].items():
        figures = [float(value) for value in rows[name][2 * at : 2 * at + 2]]
        assert [entry["own"], entry["auprc"]] == pytest.approx(figures, abs=6e-4)
        years = float(rows[name][5].replace(",", ""))
        assert rows[name][4] == entry["nearest"]
        assert 2 * years == pytest.approx(entry["distance"], 0.1)


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
