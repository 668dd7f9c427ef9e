"""``seqmtl explain`` as a user runs it."""

from __future__ import annotations

import json
from unittest import mock

import numpy as np
import pytest

from seqmtl import JointFeatures, PositionalKmers, TaskKernel
from seqmtl.commands.main import main
from seqmtl.explanation import poim
from seqmtl.linear_model.model import MultiTaskModel
from tests.explanation.test_poim import make_model

TASKS = ("worm one", "fly", "yeast")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.seqmtl"
    make_model(PositionalKmers("wd:3"), 30, tasks=TASKS, offset=14).save(path)
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = ["organism\tlabel\tsplit\tsequence"]
    for n in range(40):
        text = "".join(rng.choice(list("ACGT"), 30, p=[0.1, 0.2, 0.3, 0.4]))
        rows.append(f"{TASKS[n % 2]}\t1\t{'test' if n < 20 else 'train'}\t{text}")
    path = tmp_path_factory.mktemp("data") / "windows.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(model, data, tmp_path_factory):
    out = tmp_path_factory.mktemp("explained")
    (out / "notes.txt").write_text("mine")
    options = "--max-order 3 --n-windows 4 -q"
    with mock.patch("seqmtl.explanation.folder.TOP", 7):
        assert main(["explain", str(model), str(data), "-o", str(out), *options.split()]) == 0
    return out


@pytest.fixture
def explain(seqmtl):
    """Return a function that runs the command, and returns its messages."""
    return lambda *arguments, code=0: seqmtl(["explain", *arguments], code).err


def read_table(path):
    header, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_the_folder_holds_what_the_summary_lists(folder):
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["schema_version"] == 2
    assert summary["kind"] == "seqmtl explain"
    assert summary["organisms"] == {"worm one": "worm_one", "fly": "fly", "yeast": "yeast"}
    assert {path.name for path in folder.iterdir()} == {*summary["files"], "notes.txt"}
    assert (folder / "notes.txt").read_text() == "mine"
    expected = {"position_importance.tsv", "kmers.tsv", "contributions.tsv", "summary.json"}
    for stem in ("worm_one", "fly", "yeast"):
        names = [f"poim_{stem}", f"logo_{stem}"]
        expected |= {f"{name}.{suffix}" for name in names for suffix in ("png", "svg")}
        expected.add(f"poim_{stem}.tsv")
    for stem in ("worm_one", "fly"):  # the data has no yeast
        expected |= {f"contributions_{stem}.png", f"contributions_{stem}.svg"}
    assert set(summary["files"]) == expected
    assert summary["settings"] == {"max_order": 3, "n_windows": 4}


def test_tables_say_what_the_library_computes(folder, model):
    trained = MultiTaskModel.load(model)
    found = poim(trained, "fly", max_order=3)
    rows = read_table(folder / "poim_fly.tsv")
    assert len(rows) == 4 * 1 + 7 * 2 + 3  # seven of each order
    for row in rows:
        k, j = int(row["k"]), int(row["position"]) + 14
        code = int("".join(str("ACGT".index(letter)) for letter in row["oligomer"]), 4)
        assert float(row["Q"]) == pytest.approx(found.Q[k - 1][j, code], rel=1e-5)
        beyond = found.beyond_letters(k)[j, code]
        assert float(row["beyond_letters"]) == pytest.approx(beyond, rel=1e-5, abs=1e-12)

    rows = [
        row for row in read_table(folder / "position_importance.tsv") if row["organism"] == "fly"
    ]
    assert len(rows) == 30 + 29 + 28
    importance, gain = found.importance(), found.gain()
    for row in rows:
        place = int(row["k"]) - 1, int(row["position"]) + 14
        assert float(row["importance"]) == pytest.approx(importance[place], rel=1e-5)
        assert abs(float(row["Q"])) == float(row["importance"])
        assert float(row["gain"]) == pytest.approx(gain[place], rel=1e-4, abs=1e-9)

    rows = read_table(folder / "contributions.tsv")
    assert len(rows) == 2 * 4 * 30
    bias = dict(zip(trained.tasks, trained.bias, strict=True))
    for first in range(0, len(rows), 30):
        window = rows[first : first + 30]
        assert [int(row["position"]) for row in window] == list(range(-14, 16))
        total = sum(float(row["contribution"]) for row in window)
        score = float(window[0]["score"])
        assert total == pytest.approx(score - bias[window[0]["organism"]], abs=1e-4)
        assert all(float(row[f"d{row['letter']}"]) == 0 for row in window)
    scores = [float(row["score"]) for row in rows[::30] if row["organism"] == "fly"]
    assert scores == sorted(scores, reverse=True)
    kmers = read_table(folder / "kmers.tsv")
    assert {(row["begin"], row["end"]) for row in kmers} == {("-14", "0"), ("2", "16")}


def test_some_organisms(model, tmp_path, explain):
    out = tmp_path / "out"
    explain(model, "-o", out, "--organism", "worm_one,Fly", "--max-order", 2)
    names = {path.name for path in out.iterdir()}
    assert {"poim_worm_one.png", "poim_fly.png"} <= names
    assert not any("yeast" in name for name in names)
    assert "contributions.tsv" not in names


def test_all_views_are_in_all_files(tmp_path, data, explain):
    features = JointFeatures(
        [
            PositionalKmers("wd:3"),
            PositionalKmers("kmers:3/inf@0..12", anchor=0),
            PositionalKmers("kmers:3/inf@0..14", anchor=14),
        ]
    )
    make_model(features, 30, tasks=TASKS[:2], offset=14).save(tmp_path / "model.seqmtl")
    out = tmp_path / "out"
    options = ["--max-order", 3, "--organism", "worm one"]
    explain(tmp_path / "model.seqmtl", data, "-o", out, *options)
    names = {path.name for path in out.iterdir()}
    assert {"logo_worm_one.png", "poim_worm_one.tsv", "contributions_worm_one.svg"} <= names

    found = poim(MultiTaskModel.load(tmp_path / "model.seqmtl"), "worm one", max_order=3)
    rows = read_table(out / "kmers.tsv")
    assert list(rows[0]) == ["organism", "begin", "end", "k", "kmer", "weight", "beyond_letters"]
    upstream = [row for row in rows if (row["begin"], row["end"], row["k"]) == ("-14", "0", "3")]
    assert len(upstream) == 64
    for row in upstream:
        number = int("".join(str("ACGT".index(letter)) for letter in row["kmer"]), 4)
        expected = found.Q[2][:12, number].mean()
        assert float(row["weight"]) == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_windows_of_the_wrong_kind_are_refused(model, data, tmp_path, write, explain):
    out = ["-o", tmp_path / "out"]
    short = write("organism\tlabel\tsequence\nfly\t1\tACGT\n", "short.tsv")
    told = explain(model, short, *out, code=1)
    assert "short.tsv: windows of 4 bases are shorter than the model's 30, and their site" in told
    told = explain(model, data, "--organism", "yeast", *out, code=1)
    assert "the data have no windows of yeast, only of worm one, fly" in told
    fasta = write(">x\n" + "ACGTAC" * 5 + "\n", "windows.fa")
    told = explain(model, fasta, *out, code=1)
    assert "do not name their organism; give one of worm one, fly" in told
    explain(model, fasta, "--organism", "fly", *out)
    assert (tmp_path / "out" / "contributions_fly.png").exists()


def test_a_folder_that_cannot_be_written_is_refused_first(model, write, explain):
    file = write("", "file")
    for out in (file, file / "below"):
        assert "cannot create the folder" in explain(model, "-o", out, code=1)


def test_the_summary_of_something_else_is_not_written_over(model, folder, tmp_path, explain):
    for content in ('{"kind": "seqmtl dataset"}', "[]", "{"):
        (tmp_path / "summary.json").write_text(content)
        told = explain(model, "-o", tmp_path, code=1)
        assert "summary.json was not written by seqmtl explain" in told
        assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
        assert (tmp_path / "summary.json").read_text() == content
    (tmp_path / "summary.json").write_bytes((folder / "summary.json").read_bytes())
    explain(model, "-o", tmp_path, "--max-order", 2, "--organism", "fly")


def test_a_relative_without_data_is_not_explained(tmp_path, explain):
    model = make_model(PositionalKmers("wd:2"), 30, tasks=TASKS[:2], offset=14)
    model.kernel = TaskKernel((*model.tasks, "moth"), np.eye(3))
    model.save(tmp_path / "m.seqmtl")
    told = explain(tmp_path / "m.seqmtl", "--organism", "moth", "-o", tmp_path / "out", code=2)
    assert "'moth' has no training data, but is a relative; explain shows worm one, " in told
    assert not (tmp_path / "out").exists()
