"""What users get on a small simulated case is what it was.

Where a change is meant, ``python tests/expected/make.py`` writes the expected files anew; read the
difference of the files before it is committed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.expected import make

FORMATS = Path(__file__).resolve().parents[1] / "docs" / "formats.md"
#: The first cell of a row of the table of columns, and a file with these columns.
DOCUMENTED = {
    "`windows.tsv`": "ds/windows.tsv",
    "`sites.tsv`": "ds/sites.tsv",
    "`.bed`": "scan/man.bed",
    "`regions.tsv`": "dataset/regions.tsv",
    "`excluded.tsv`": "dataset/excluded.tsv",
    "`predict -o`": "predict/scores.tsv",
    "`position_importance.tsv`": "explain/position_importance.tsv",
    "`kmers.tsv`": "explain/kmers.tsv",
    "`poim_ORGANISM.tsv`": "explain/poim_fly.tsv",
    "`contributions.tsv`": "explain/contributions.tsv",
}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    with make.working_folder(tmp_path_factory.mktemp("case")):
        yield


@pytest.mark.parametrize("step", make.STEPS)
@pytest.mark.usefixtures("case")
def test_outputs_are_as_expected(step):
    expected, found = make.expected(step), make.STEPS[step]()
    assert set(found) == set(expected)
    changed = {name: make.differences(name, expected[name], found[name]) for name in found}
    report = [f"{name}:\n" + "\n".join(lines[:20]) for name, lines in changed.items() if lines]
    assert not report, "\n".join(report)


@pytest.mark.parametrize("first", DOCUMENTED)
def test_documented_columns_are_those_written(first):
    rows = FORMATS.read_text(encoding="utf-8").splitlines()
    cells = next(row for row in rows if row.startswith(f"| {first} |")).split("|")
    documented = re.sub(r" \([^)]*\)", "", cells[2]).strip().split(", ")  # without remarks
    path = make.FOLDER / DOCUMENTED[first]
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines()
        header = next(line for line in lines if not line.startswith("# "))
    else:
        digests = (make.FOLDER / "dataset" / "digests.json").read_text(encoding="utf-8")
        header = json.loads(digests)[DOCUMENTED[first]]["first"]
    assert documented == header.lstrip("#").split("\t")
