"""What the page says of a folder, and what to do next, for results that are made up."""

from types import SimpleNamespace

import pytest

from seqmtl import TaskKernel
from seqmtl.reporting.folder import FolderContents, Signal
from seqmtl.reporting.summary_text import next_step, summarise


@pytest.fixture
def model():
    """A calibrated model of one organism."""
    return SimpleNamespace(
        tasks=("ant",),
        kernel=TaskKernel.union(["ant"]),
        training={},
        curves={"ant": None},
        kind="classification",
    )


def test_what_a_signal_lacks_comes_next(model):
    signal = Signal("acceptor", folder="d", models={"m": model})
    contents = FolderContents("r", signals={"acceptor": signal})
    assert next_step(contents)[1] == "seqmtl evaluate r/m.seqmtl d --json r/m.json"
    model.curves.clear()
    assert next_step(contents)[1] == "seqmtl calibrate r/m.seqmtl d -o r/m.seqmtl"
    signal.models.clear()
    assert next_step(contents)[1] == "seqmtl train d --tree eukaryotes -o r/acceptor.seqmtl"
    contents.signals.clear()
    assert next_step(contents)[1] == "seqmtl --help"


def test_what_to_do_next_with_both_ends_of_introns(model):
    signals = {
        name: Signal(name, folder=f"{name}s", models={name: model}, metrics={name: {}})
        for name in ("donor", "acceptor")
    }
    contents = FolderContents("my r", signals=signals)
    models = "'my r/donor.seqmtl' 'my r/acceptor.seqmtl'"
    pair = f"seqmtl pair {models} donors acceptors -o 'my r/pair.seqmtl'"
    assert next_step(contents)[1] == pair
    contents.paired["pair"] = model
    evaluate = "seqmtl evaluate 'my r/pair.seqmtl' donors acceptors --json 'my r/pair.json'"
    assert next_step(contents)[1] == evaluate
    contents.pairs["pair.json"] = {}
    scan, end = "seqmtl scan 'my r/pair.seqmtl'", "-o 'my r/ant' --json 'my r/ant.scan.json'"
    assert next_step(contents) == (
        "score a genome",
        f"{scan} GENOME.fa --organism ant --format all {end}",
    )
    # of what was scanned, an organism that a model knows
    scans = [{"organism": "bee"}, {"organism": "ant"}]
    contents.scans["scan.json"] = {"genome": "ant.fa", "scans": scans}
    hints = f"{scan} ant.fa --organism ant --format hints -o hints.gff"
    assert next_step(contents)[1] == hints


def test_what_was_found_without_labels_is_told_with_doubts(model):
    rounds = [{"expected": [1.0, 1.0], "sure": [0, 0]}, {"expected": [30.2, 40.4], "sure": [9, 8]}]
    facts = {"rounds": rounds, "bases": 5000, "doubts": ["few introns"]}
    model.training["unlabelled"] = {"bee": facts}
    told = (
        "bee, without labels: 71 donors and acceptors are expected in 5,000 bases, 17 of them with "
        "a probability of 0.9 or more."
    )
    contents = FolderContents("r", paired={"pair": model})
    assert summarise(contents) == f"{told} There is a warning: see below."
    facts["doubts"].append("long introns")
    assert summarise(contents) == f"{told} There are warnings: see below."
    facts["doubts"].clear()
    assert summarise(contents) == told
