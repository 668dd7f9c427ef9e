"""The summary of results that are made up."""

from types import SimpleNamespace

from seqmtl.reporting.contents import FolderContents
from seqmtl.reporting.summary_text import name_contents, summarise


def test_sites_predicted_without_labels():
    rounds = [
        {"expected": [1.0, 1.0], "n_p90": [0, 0]},
        {"expected": [30.2, 40.4], "n_p90": [9, 8]},
    ]
    model = SimpleNamespace(training={"unlabelled": {"bee": {"rounds": rounds, "bases": 5000}}})
    contents = FolderContents("r", paired={"pair": model})
    assert name_contents(contents) == "Introns by pair.seqmtl"
    assert summarise(contents) == [
        "bee, without labels: 71 donors and acceptors expected in 5,000 bases, 17 with p >= 0.9."
    ]
