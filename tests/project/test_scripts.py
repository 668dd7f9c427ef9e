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


def test_introns_of_benchmarks_are_those_of_coding_sequence(tmp_path, monkeypatch):
    """By hand: no frame shift is an intron, and no transcript without CDS counts beside others."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from bench_new_genomes import annotated
    from bench_peers_introns import inner_exons

    coding = {"exon": ((1, 60), (81, 100), (102, 160), (301, 400))}
    coding["CDS"] = ((31, 60), (81, 100), (102, 160), (301, 390))
    noncoding = {"exon": ((501, 520), (601, 620), (701, 720))}
    path = tmp_path / "a.gff3"

    def write(transcripts):
        lines = ["##gff-version 3"]
        for name, rows in transcripts.items():
            bounds = rows["exon"][0][0], rows["exon"][-1][1]
            rows = {"transcript": (bounds,), **rows}
            for kind, parts in rows.items():
                key = f"ID={name}" if kind == "transcript" else f"Parent={name}"
                lines += [f"c\t.\t{kind}\t{a}\t{b}\t.\t+\t0\t{key}" for a, b in parts]
        path.write_text("\n".join(lines) + "\n")

    write({"gene": coding, "rna": noncoding})
    of_gene = {("c", 60, 80, False), ("c", 160, 300, False)}
    of_rna = {("c", 520, 600, False), ("c", 620, 700, False)}
    assert annotated(path, {"c"}) == (of_gene, of_gene | of_rna)
    assert annotated(path, {"d"}) == (set(), set())
    inner = {("c", 80, 160, False)}, {("c", 80, 160, False), ("c", 600, 620, False)}
    assert inner_exons(path, {"c"}) == inner
    write({"rna": noncoding})
    assert annotated(path, {"c"}) == (of_rna, of_rna)


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
