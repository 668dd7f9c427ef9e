"""JSON files that only look like ours do not stop the report: shown, or listed as not shown."""

import json
import shutil

import pytest

from seqmtl.reporting.folder import read_folder
from seqmtl.reporting.page import write_folder_report

_COMPARISON = {"settings": {"seed": 0}, "sizes": {"ape": {}}, "methods": {"mtl": {}}}
_TASK = {
    "n_positive": 7,
    "expected": 6.5,
    "calibration_error_p10": 0.1,
    "auroc": 0.9,
    "auroc_interval": None,
    "auprc_genome": 0.3,
    "auprc_genome_interval": [0.2, 0.4],
    "genome": {
        "prevalence": 0.01,
        "auprc": 0.3,
        "precision_at_recall": {"0.5": 0.9, "0.8": 0.8, "0.95": None},
    },
    "reliability": [
        {
            "probability": "0.1-0.25",
            "n": 9.0,
            "expected": 1.5,
            "true": 2.0,
            "true_interval": [0.5, 4.0],
            "calibrated": "yes",
        }
    ],
}
_METRICS_OF_TASKS = {
    "tasks": {"ape": _TASK},
    "mean": {"auroc": 0.9, "auprc_genome": 0.3},
    "bootstrap": {"n_resamples": 200, "confidence": 0.95, "seed": 0},
}
_BETTER = {
    "tasks": {
        "ape": {
            **_TASK,
            "auprc_genome": 0.8,
            "auprc_genome_interval": None,
            "expected": 1234.5,
            "genome": {**_TASK["genome"], "auprc": 0.8},
        }
    },
    "mean": {"auroc": 0.9, "auprc_genome": 0.8},
    "bootstrap": _METRICS_OF_TASKS["bootstrap"],
}
_PAIRED = {
    "schema_version": 2,
    "model": "p.seqmtl",
    "split": "test",
    "signals": {
        signal: {"alone": _METRICS_OF_TASKS, "paired": _BETTER} for signal in ("donor", "acceptor")
    },
}
_DEEP = "[" * 400 + "]" * 400


@pytest.fixture
def folder(world, tmp_path):
    """A folder with the summary of a dataset, which is shown."""
    folder = tmp_path / "results"
    folder.mkdir()
    shutil.copy(world.dataset("donor") / "summary.json", folder)
    return folder


def _page(folder):
    out = folder.parent / "report.html"
    found = write_folder_report(folder, out)
    return found, out.read_text()


def test_an_evaluation_in_pairs_is_shown(folder):
    (folder / "pairs.json").write_text(json.dumps(_PAIRED))
    found, page = _page(folder)
    assert list(found.pairs) == ["pairs.json"]
    assert found.skipped == []
    assert "results/pairs.json" in page
    for sites in ("Splice donors", "Splice acceptors"):
        sentence = f"{sites} (p.seqmtl): mean AUPRC (genome) 0.800 paired, "
        assert f"{sentence}0.300 (0.200-0.400) alone." in page
    row = '<th scope="row">ape</th><td>{}</td><td>0.01</td><td>{}</td><td>0.900</td><td>0.800</td>'
    for cells, end in ((("alone", "0.300"), "7</td><td>6.5"), (("paired", "0.800"), "1,234.5")):
        start = page.index(row.format(*cells))
        assert end in page[start:].split("</tr>")[0]
    texts = ("with 95 % intervals (200 resamples)", "ties within the interval")
    assert all(text in page for text in texts)
    alone = json.dumps(_PAIRED).replace('"n_resamples": 200', '"n_resamples": 0')
    (folder / "pairs.json").write_text(alone)
    assert not any(text in _page(folder)[1] for text in texts)
    assert page.count("<h3>Splice acceptors</h3>") == 1


@pytest.mark.parametrize("name", ["comparison.json", "sub/summary.json", "x\x1b.json"])
def test_foreign_files(folder, name):
    (folder / "sub").mkdir()
    for content in (
        b"",
        b"null",
        b"3",
        b'"text"',
        b"[]",
        b"[1, [2]]",
        b"{}",
        b"\x00\xff\xfe",
        b"NaN",
        b"{",
        _DEEP.encode(),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 5000,
        b'{"n": 1e999}',
        b'{"kind": "seqmtl dataset"}',
        b'{"kind": ["seqmtl dataset"]}',
        b"[" + b"0," * 10**6 + b"0]",
        b'{"command": "annotate", "seqmtl_version": 1}',
        b'{"command": {"scan": 1}}',
        b'{"methods": {}, "sizes": {}, "settings": {}}',
        b'{"signal": "donor", "models": []}',
        b'{"methods": [], "splits": 3, "sizes": 1}',
        b'{"signal": "x", "split": 3, "tasks": {}}',
        b'{"signal": "donor", "split": "test", "tasks": {}}',
        b'{"signals": ["ecg", "emg"], "split": "test"}',
        b'{"command": "annotate", "scans": [{}]}',
    ):
        (folder / name).write_bytes(content)
        found = read_folder(folder)
        assert list(found.signals) == ["donor"]
        assert found.introns == found.pairs == {}
        assert found.signals["donor"].metrics == {}
        assert all(name in line and "\n" not in line for line in found.skipped)
    (folder / name).write_bytes(b"{")
    assert "Not shown" in _page(folder)[1]


def test_documents_that_are_not_shown_are_named(folder):
    path = str(folder / "scan.json")
    for document, why in (
        (_METRICS_OF_TASKS, "an evaluation of windows; the page shows evaluations of datasets"),
        (_COMPARISON, "a comparison of methods; seqmtl compare --plot draws it"),
    ):
        (folder / "scan.json").write_text(json.dumps(document))
        (line,) = read_folder(folder).skipped
        assert line == f"{path}: {why}"
