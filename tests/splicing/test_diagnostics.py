"""What speaks against the introns of a genome without labels."""

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from seqmtl.loading import load
from seqmtl.sequences import encode
from seqmtl.splicing.diagnostics import precision_warnings, warnings_for
from seqmtl.splicing.genetic_code import STOPS
from seqmtl.splicing.genome_sample import GenomeSample
from seqmtl.splicing.model import estimated_accuracy, expectation
from seqmtl.splicing.rounds import SelfTrainingRound

PRIOR = np.where(np.arange(1, 1001) >= 50, 1.0, 0.0)  # introns of 50 to 1,000 bases
GOOD = SelfTrainingRound((90.0, 90.0), 170.0, (60, 60), 0.01, 30, 400, 1000)


def _sample(gc):
    p = [(1 - gc) / 2, gc / 2, gc / 2, (1 - gc) / 2]
    codes = np.random.default_rng(0).choice(4, 60_000, p=p).astype(np.uint8)
    return GenomeSample(codes, np.array([[0, codes.size]]), np.zeros(1, dtype=np.int64), [("a", 0)])


def test_a_genome_like_those_tested_raises_no_doubt():
    assert warnings_for(_sample(0.35), GOOD, PRIOR, True, STOPS) == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("median", 60, "median intron called has 60 bases, and 1.2% of the .* as short"),
        ("median", 990, "median intron called has 990 bases, and 1.1% of the .* as long"),
        ("reversed_rate", 0.2, "the estimated false discovery rate is 20%"),
    ],
)
def test_each_doubt_is_told_where_there_are_calls(name, value, message):
    last = GOOD._replace(**{name: value})
    (found,) = warnings_for(_sample(0.35), last, PRIOR, True, STOPS)
    assert re.search(message, found)
    assert warnings_for(_sample(0.35), last, PRIOR, False, STOPS) == []


def test_stop_codons_that_code_are_told_unless_the_calls_know_them():
    codons = ["".join(letters) for letters in product("ACGT", repeat=3)]
    codons.remove("TGA")
    rng = np.random.default_rng(4)
    genes = "".join("".join(rng.choice(codons, 1_000)) + "TGA" for _ in range(60))
    sample = _sample(0.35)._replace(codes=encode(genes), bounds=np.array([[0, len(genes)]]))
    (found,) = warnings_for(sample, GOOD, PRIOR, False, STOPS)
    assert found.startswith("genes seem to read through TAA and TAG: the genetic code may not be")
    assert warnings_for(sample, GOOD, PRIOR, False, ("TGA",)) == []


def test_another_composition_is_told():
    (found,) = warnings_for(_sample(0.6), GOOD, PRIOR, False, STOPS)
    assert found.startswith("60% of its bases are G or C, 19% to 52% in the genomes tested")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"ant": 0.4, "bee": 0.3, "elm": 0.3}, None),  # insects, of which .95 to .99 were right
        ({"cup": 0.6, "elm": 0.4}, "75% to 94% of the introns .* called in held-out fungi were"),
        ({"ant": 0.4, "cup": 0.3, "elm": 0.3}, "no genome of its clade was held out"),
    ],
)
def test_the_precision_of_held_out_relatives_is_a_warning_where_it_is_low_or_unknown(
    weights, message
):
    precision = {
        "insects": {"organisms": ["ant", "bee"], "rounds": [0.99, 0.99], "few": [0.95, 0.95]},
        "fungi": {"organisms": ["cup"], "relatives": [0.84, 0.91], "rounds": [0.75, 0.94]},
    }
    warnings = precision_warnings(precision, weights)
    assert len(warnings) == (message is not None)
    assert all(re.search(message, warning) for warning in warnings)
    assert precision_warnings({}, weights) == []  # of a model without measurements


def test_the_precision_of_the_shipped_model_is_that_of_the_recorded_benchmark():
    results = Path(__file__).parents[2] / "benchmarks/results/new_genomes.json"
    measured = {}
    for row in json.loads(results.read_text())["rows"]:
        if row["bases"] == "all" and row["calls of .9"] >= 20:
            case = measured.setdefault((row["clade"], row["model"]), [])
            case.append(round(row["right"], 2))
    stored = load("starter:splice").training["precision"]
    assert stored.keys() == {clade for clade, _ in measured}
    for (clade, case), shares in measured.items():
        assert stored[clade][case] == [min(shares), max(shares)]
    assert "d_melanogaster" in stored["insects"]["organisms"]
    assert "d_magna" not in stored["insects"]["organisms"]
    members = [name for facts in stored.values() for name in facts["organisms"]]
    assert len(members) == len({*members})


def test_precision_and_recall_by_hand():
    """Of 200 introns expected, 100 are called at 0.5, 80 of them right; 50 at 0.9, 48 right."""
    calls = {"expected": 200.0, "p50": [100, 0.2], "p90": [50, 0.04]}
    accuracy = estimated_accuracy({"calls": calls})
    assert accuracy == {0.5: pytest.approx((0.8, 0.4)), 0.9: pytest.approx((0.96, 0.24))}
    expected, called = expectation({"calls": calls, "bases": 4_000_000})
    assert expected == "about 200 introns are expected in 4,000,000 bases of the genome (50 per Mb)"
    assert called == (
        "estimated from the probabilities, 40% of them are called at p >= 0.5 with a precision of "
        "80%, 24% of them are called at p >= 0.9 with a precision of 96%"
    )
    none = {"expected": 3.0, "p50": [0, 0.0], "p90": [0, 0.0]}
    assert estimated_accuracy({"calls": none}) == estimated_accuracy({}) == {}
    assert "none of them is called" in expectation({"calls": none, "bases": 10})[1]
    assert expectation({}) == []
