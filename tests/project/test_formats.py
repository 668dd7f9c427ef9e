"""The page on formats lists the columns that the commands write."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
EXPECTED = ROOT / "tests" / "expected"
WRITTEN = {
    "`.bed`": "scan/man.bed",
    "`predict -o`": "predict/scores.tsv",
    "`predict -o` of a table": "tables/kernel-svc.tsv",
    "`position_importance.tsv`": "explain/position_importance.tsv",
    "`kmers.tsv`": "explain/kmers.tsv",
    "`poim_ORGANISM.tsv`": "explain/poim_fly.tsv",
    "`contributions.tsv`": "explain/contributions.tsv",
}


def _listed(first):
    """The columns in the second cell of a row of the page, without remarks."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {first} |"))
    return re.sub(r" \([^)]*\)", "", row.split("|")[2]).strip().split(", ")


def _header(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if not line.startswith("# ")).lstrip("#").split("\t")


@pytest.mark.parametrize("first", WRITTEN)
def test_columns_are_those_of_the_file(first):
    assert _listed(first) == _header(EXPECTED / WRITTEN[first])


def test_columns_of_datasets_are_those_of_the_files(tmp_path, seqmtl):
    tree = '"(a:0.1,b:0.1);"'
    seqmtl(f"simulate --tree {tree} --chromosome-length 60000 --no-windows -q -o {tmp_path}/sim")
    seqmtl(f"dataset {tmp_path}/sim/dataset.toml -q -o {tmp_path}/dataset")
    for name in ("windows.tsv", "sites.tsv", "regions.tsv", "left_out.tsv"):
        assert _listed(f"`{name}`") == _header(tmp_path / "dataset" / name)


def test_columns_of_effects_and_evaluations_are_named():
    for column in _header(EXPECTED / "variants" / "effects.tsv"):
        assert f"`{column}`" in PAGE or f"`{column.replace('loss_', 'gain_')}`" in PAGE
    printed = (EXPECTED / "evaluate" / "printed.txt").read_text().split("\n")[0].split("\t")
    told = re.search(r"\| `evaluate` \| (.*) \|", PAGE)[1]
    assert all(column.removesuffix("_95") in told for column in printed)
