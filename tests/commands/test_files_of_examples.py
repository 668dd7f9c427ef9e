"""Examples from files as they come: several files, a file for each class, any lengths."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from seqmtl import KmerCounts, MultiTaskModel, Windows, train
from seqmtl.commands._kinds import data_file, name_and_path

command = import_module("seqmtl.commands.train")
MOTIFS = {"ant": "TGACTCA", "bee": "CACGTGA"}
FREE = "--features gapped:6/4 --selection none"


def texts_of(rng, motif: str, n: int, shortest: int = 20, longest: int = 40) -> list[str]:
    texts = []
    for length in rng.integers(shortest, longest + 1, n):
        letters = "".join(rng.choice(list("ACGT"), length))
        at = int(rng.integers(0, length - len(motif) + 1))
        texts.append(letters[:at] + motif + letters[at + len(motif) :])
    return texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """FASTA of positives and negatives of two organisms, and the same rows as CSV and TSV."""
    path, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(5)
    rows = [["organism", "sequence", "label"]]
    for name, motif in MOTIFS.items():
        some = [["sequence", "label"]]
        for label, kind in ((1, ""), (0, "_bg")):
            texts = texts_of(rng, motif if label else "", 60)
            records = [f">{name}{i}\n{letters}\n" for i, letters in enumerate(texts)]
            (path / f"{name}{kind}.fa").write_text("".join(records))
            some += [[letters, str(label)] for letters in texts]
        with open(path / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows(some)
        rows += [[name, *row] for row in some[1:]]
    (path / "both.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_all_ways_to_give_the_same_rows_make_the_same_model(here, tmp_path, seqmtl, monkeypatch):
    usual = command._settings
    monkeypatch.setattr(command, "_settings", lambda request: replace(usual(request), tol=1e-6))
    ways = {
        "fasta": "ant=ant.fa bee=bee.fa --negatives ant=ant_bg.fa bee=bee_bg.fa",
        "csv": "ant=ant.csv bee=bee.csv",
        "tsv": "both.tsv",
        "disk": "ant=ant.csv bee=bee.csv --memory 1G",
    }
    models = {}
    for way, data in ways.items():
        seqmtl(f"train {data} {FREE} -o {tmp_path}/{way} -q")
        models[way] = MultiTaskModel.load(tmp_path / way)
        assert models[way].tasks == ("ant", "bee")
        assert models[way].length == 40
    assert models["fasta"].training["sources"] == ["ant.fa", "bee.fa", "ant_bg.fa", "bee_bg.fa"]
    names, texts = zip(
        *[row.split("\t")[:2] for row in Path("both.tsv").read_text().splitlines()[1:]], strict=True
    )
    X = KmerCounts("gapped:6/4").transform(list(texts))
    for model in models.values():
        scores = model.decision_function(Windows.from_strings(texts, pad=True), list(names))
        ids = [model.tasks.index(name) for name in names]
        expected = (X @ np.asarray(model.W))[np.arange(len(ids)), ids] + model.bias[ids]
        np.testing.assert_allclose(scores, expected, atol=1e-4)
        np.testing.assert_allclose(model.W, models["tsv"].W, atol=2e-3)
    python = train(
        {"ant": here / "ant.csv", "bee": here / "bee.csv"},
        output=tmp_path / "python",
        features="gapped:6/4",
        selection="none",
    )
    np.testing.assert_allclose(python.W, models["csv"].W, atol=2e-3)


def test_explained_by_the_names_of_files(here, tmp_path, seqmtl):
    files = "ant=ant.fa bee=bee.fa"
    seqmtl(f"train {files} --negatives ant=ant_bg.fa bee=bee_bg.fa {FREE} -o {tmp_path}/m -q")
    seqmtl(f"explain {tmp_path}/m {files} --organism bee -o {tmp_path}/explained -q")
    kmers = (tmp_path / "explained" / "top_kmers.tsv").read_text()
    assert {row.split("\t")[0] for row in kmers.splitlines()[1:]} == {"bee"}


def test_probabilities_without_a_site_are_for_ranks(here, tmp_path, seqmtl):
    seqmtl(f"train ant.fa --negatives ant_bg.fa {FREE} -o {tmp_path}/m -q")
    error = seqmtl(f"scan {tmp_path}/m bee.fa -q -o {tmp_path}/out.bed").err
    assert "the 50 % true sites of the training windows; use them to rank" in error


def test_sequences_of_any_length_are_scored_as_they_are(here, tmp_path, seqmtl):
    seqmtl(f"train ant.fa --negatives ant_bg.fa {FREE} -o {tmp_path}/m -q")
    model = MultiTaskModel.load(tmp_path / "m")
    assert (model.tasks, model.length) == (("task",), 40)
    texts = {"long": "ACGT" * 100 + "TGACTCA", "short": "TGACTCA", "tiny": "TGA"}
    fasta = tmp_path / "new.fa"
    fasta.write_text("".join(f">{name}\n{letters}\n" for name, letters in texts.items()))
    shown = seqmtl(f"predict {tmp_path}/m {fasta} -q")
    assert (
        "1 of 3 sequences are shorter than the longest k-mers, 6 bases (first: tiny)" in shown.err
    )
    shown = shown.out.splitlines()[1:]
    scores = [float(line.split("\t")[2]) for line in shown]
    alone = [model.decision_function(Windows.from_strings([text]))[0] for text in texts.values()]
    np.testing.assert_allclose(scores, alone, atol=1e-5)
    shown = seqmtl(f"evaluate {tmp_path}/m ant.csv --json - --bootstrap 0 -q").out
    assert json.loads(shown)["tasks"]["task"]["n"] == 120  # the rows name no organism
    seqmtl(f"evaluate {tmp_path}/m ant.fa --negatives ant_bg.fa --bootstrap 0 --json {tmp_path}/e")
    assert json.loads((tmp_path / "e").read_text()) == json.loads(shown)


BAD = {
    "ant.fa": "record 'ant0'.: a record must have a label; .* negatives in another file",
    f"ant.fa --negatives ant_bg.fa {FREE} --features wd:2": "features that need no positions",
    f"ant.fa --negatives ant.csv {FREE}": "must be negatives, .* 60 of 120 have the label 1",
    f"ant.csv --negatives ant_bg.fa {FREE}": "must be positives, .* 60 of 120 have the label -1",
    f"ant=ant.fa bee.fa --negatives ant_bg.fa {FREE}": "but this names none; write NAME=bee.fa",
    f"ant.csv --organism bee {FREE}": "no option --organism; NAME=FILE names the organism",
    f"ant=ant.csv Ant=bee.csv {FREE}": "'ant', 'Ant' for the same organism",
    f"ant.csv 30.csv {FREE} --features wd:2 --window 20": "in all files, got 3 here and None in",
    f"positive.csv {FREE}": "'task' has 2 positive and 0 negative",
    "tiny.csv": "as long as the longest k-mers, 9 bases, but all are shorter",
    f"short.csv {FREE}": "as long as the longest k-mers, 6 bases, but all are shorter",
    f"empty.csv {FREE}": "empty.csv:3: sequence must not be empty",
    f"odd.csv {FREE}": "odd.csv:2: sequence must be of IUPAC nucleotide letters, got 'E'",
    f"=ant.csv {FREE}": "DATA must be FILE or ORGANISM=FILE, got '=ant.csv'",
    f"K562/CTCF=ant.csv {FREE}": "organism without / and =, got 'K562/CTCF=ant.csv'; write K562_C",
    f"x=y=ant.csv {FREE}": "organism without / and =, got 'x=y=ant.csv'; write x_y=ant.csv",
    f"ant.csv {FREE} --split dev": "--split must be all or left out, got 'dev': ant.csv has no",
    f"ant.fa --negatives ant_bg.fa {FREE} --split valid": "got 'valid': ant.fa has no column split",
    f"ant.csv {FREE} --memory 1G --split dev": "--split must be all or left out, got 'dev'",
}


@pytest.mark.parametrize("data", BAD)
def test_bad_examples_are_refused(here, data, tmp_path, seqmtl):
    files = {
        "positive": "ACGTACGT,1 ACGTTTTT,1",
        "short": "ACGT,1 AC,0",
        "tiny": "ACGTACGT,1 AC,0 ACGT,1 ACG,0",
        "empty": "ACGTACGT,1 ,0",
        "odd": "AEACACAC,1 ACGTTTTT,0",
    }
    for name, rows in files.items():
        (here / f"{name}.csv").write_text("\n".join(["sequence,label", *rows.split()]) + "\n")
    (here / "30.csv").write_text(f"sequence,label,site\n{'A' * 20},1,3\n{'C' * 20},0,3\n")
    code = 2 if data.startswith(("=", "K562", "x=", "ant.csv --organism")) or "split" in data else 1
    error = seqmtl(f"train {data} -o {tmp_path}/never", code).err
    assert re.search(BAD[data], error), error
    assert not (tmp_path / "never").exists()


def test_splits_of_fasta_are_those_of_a_table(here, tmp_path, seqmtl):
    """Records in headers' splits and rows of a column give the same models and the same errors."""
    texts = [row.split("\n")[1] for row in (here / "ant.fa").read_text()[1:].split("\n>")]
    rows = [(text, i % 2, "test" if i < 20 else "train") for i, text in enumerate(texts)]
    fasta = [f">{i} label={y} split={s}\n{text}\n" for i, (text, y, s) in enumerate(rows)]
    (here / "s.fa").write_text("".join(fasta))
    table = ["sequence,label,split", *(",".join(map(str, row)) for row in rows)]
    (here / "s.csv").write_text("\n".join(table) + "\n")
    models = []
    for file in ("s.fa", "s.csv"):
        seqmtl(f"train {file} {FREE} -o {tmp_path}/m -q")
        models.append(MultiTaskModel.load(f"{tmp_path}/m"))
        assert models[-1].training["tasks"]["task"]["n"] == 40
        shown = seqmtl(f"evaluate {tmp_path}/m {file} --bootstrap 0 --json - -q")
        assert json.loads(shown.out)["tasks"]["task"]["n"] == 20
        assert "was trained on" not in shown.err
        error = seqmtl(f"train {file} --split dev -o never", 2).err
        assert "one of those in the file, test (20 rows), train (40 rows), got 'dev'" in error
    np.testing.assert_array_equal(models[0].W, models[1].W)
    (here / "s.fa").write_text("".join(fasta[:20]))
    error = seqmtl("train s.fa -o never", 1).err
    assert "split must be one of those in the file, test (20 rows), got 'train'" in error
    (here / "s.fa").write_text("".join(fasta).replace("test", "x").replace("train", "x"))
    told = seqmtl(f"train s.fa {FREE} -o {tmp_path}/m").err
    assert "the split is 'x' in every row of s.fa; ignoring it and using all rows" in told


def test_faults_of_sequences_are_counted_and_padding_is_none(here, tmp_path, seqmtl):
    (here / "few.fa").write_text(">p\nACG\n>q\nACGT\n>r\n" + "ACGTACGTAA\n")
    told = seqmtl(f"train ant.fa few.fa --negatives ant_bg.fa few.fa {FREE} -o {tmp_path}/m").err
    assert "windows that occur with both labels: 3 of task" in told
    assert "4 of 126 sequences are shorter than the longest k-mers, 6 bases (first: p)" in told
    (here / "few.csv").write_text("sequence,label\nACG,1\nACGTACGT,1\nGG,0\nACGTACGTA,0\n")
    on_disk = seqmtl(f"train few.csv {FREE} --memory 1G -o {tmp_path}/m").err
    assert "2 of 4 sequences are shorter than the longest k-mers, 6 bases (first: 0)" in on_disk
    assert "hold no A, C, G or T" not in told
    assert "are elsewhere" not in told


def test_what_is_before_an_equals_sign_is_a_name_unless_it_has_a_slash_or_is_a_file(here):
    (here / "dir=1").mkdir()
    for name in ("x.fa", "a=b.fa"):
        (here / "dir=1" / name).write_text(">a\nAC\n")
        for path in (f"./dir=1/{name}", f"dir=1/{name}", str(here / "dir=1" / name)):
            assert data_file(path) == path
            assert name_and_path(path) == (None, path)
    (here / "1").mkdir()
    (here / "1" / "x.fa").write_text(">a\nAC\n")
    for data, expected in (
        ("a=b.fa", ("a", "b.fa")),
        ("./a=b.fa", (None, "./a=b.fa")),
        ("rate=0.1/x=1.fa", ("rate", "0.1/x=1.fa")),
        ("dir=1/x.fa", ("dir", "1/x.fa")),  # which is there, too
    ):
        assert name_and_path(data) == expected
        assert data_file(data) == data
    assert data_file(("ant", "x.fa")) == "ant=x.fa"
    assert data_file("dir/no_such=x.fa") == "dir/no_such=x.fa"
    with pytest.raises(
        ValueError, match=r"without / and =, got 'K562/CTCF=ant.fa'; write K562_CTCF="
    ):
        data_file(("K562/CTCF", "ant.fa"))


@pytest.mark.parametrize("change", [lambda s: s[:-3], lambda s: "A" + s], ids=["short", "long"])
def test_one_odd_sequence_among_sites_is_refused(tmp_path, seqmtl, change):
    """Else its site would be at another base, or a splice site become a sequence without one."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        letters = rng.choice(list("ACGT"), 30)
        letters[10:12] = ["G", "T"]
        rows.append(("x", str(i % 2), "".join(letters)))
    rows[7] = (*rows[7][:2], change(rows[7][2]))
    table = ["organism\tlabel\tsequence", *map("\t".join, rows)]
    (tmp_path / "w.tsv").write_text("\n".join(table) + "\n")
    told = seqmtl(f"train {tmp_path}/w.tsv -o {tmp_path}/m.seqmtl", 1).err
    assert "differ in length, but have a site at base 10 (0-based, all windows have GT" in told
    assert "cut them to one length" in told
    assert not (tmp_path / "m.seqmtl").exists()
