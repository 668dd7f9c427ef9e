"""The benchmarks and the scripts of the papers work: each runs with --quick and has its result."""

import json
import math
import os
import runpy
import sys
import warnings
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("bench_*.py"))
PAPERS = [
    path
    for path in sorted((ROOT / "examples" / "paper").glob("[!_]*.py"))
    if path.stem != "li2014_tables"
]


def run(monkeypatch, script, *arguments):
    """Run a script in this process, which has the imports and compiled loops."""
    monkeypatch.syspath_prepend(script.parent)
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, arguments)])
    with warnings.catch_warnings(action="ignore"), mock.patch.dict(os.environ):
        runpy.run_path(str(script), run_name="__main__")


def numbers(value):
    """Return all numbers of a JSON document."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in numbers(part)]
    return [value] if isinstance(value, int | float) else []


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda path: path.stem)
def test_benchmark(script, tmp_path, monkeypatch, capsys):
    run(monkeypatch, script, "--quick", "--json", tmp_path / "out.json")
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert all(numbers(row) and all(map(math.isfinite, numbers(row))) for row in rows)
    assert capsys.readouterr().out.count("\n| ") >= len(rows)


@pytest.mark.parametrize("script", PAPERS, ids=lambda path: path.stem)
def test_paper(script, tmp_path, monkeypatch):
    run(monkeypatch, script, "--quick", "--out", tmp_path)
    found = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert numbers(found)
    assert all(map(math.isfinite, numbers(found)))
    (figure,) = tmp_path.glob("*.png")
    assert figure.stat().st_size > 10_000
    if script.stem == "li2014_pareto":
        before = (tmp_path / "tables.txt").read_text()
        run(monkeypatch, script.with_name("li2014_tables.py"), tmp_path)
        assert (tmp_path / "tables.txt").read_text() == before


def test_tables_are_those_of_the_results(monkeypatch):
    run(monkeypatch, ROOT / "benchmarks" / "tables.py", "--check")
