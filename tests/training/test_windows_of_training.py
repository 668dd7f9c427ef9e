"""Windows of a model of k-mers anywhere are those of its training, in whatever file they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from seqmtl.loading import load_site_model
from seqmtl.training.example_source import ExampleSource

WINDOW = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a genome of two contigs, and peaks with TGACTCA in their middle."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("peaks")
    genome = {name: rng.choice(list("ACGT"), 20_000) for name in ("chr1", "chr2")}
    for contig, letters in genome.items():
        rows = {"bed": [], "narrowPeak": [], "fa": [], "tsv": ["label\tsequence"]}
        for middle in range(400, 19_600, 400):
            letters[middle - 20 : middle - 13] = letters[middle + 6 : middle + 13] = list("TGACTCA")
            for near in (150, 170):  # outside the windows, what the positives lack
                letters[middle + near : middle + near + 7] = list("GGGCGGG")
        for middle in range(400, 19_600, 400):
            rows["bed"].append(f"{contig}\t{middle}\t{middle + 1}")
            around = f"{middle - 120}\t{middle + 180}\tx\t0\t.\t1\t1\t1\t120"
            rows["narrowPeak"].append(f"{contig}\t{around}")
            for label, at in ((1, middle), (-1, middle + 100)):
                text = "".join(letters[at - 150 : at + 150])
                rows["fa"].append(f">{contig}_{at} label={label}\n{text}")
                rows["tsv"].append(f"{label}\t{text}")
        for kind, lines in rows.items():
            (folder / f"{contig}.{kind}").write_text("\n".join(lines) + "\n")
    text = "".join(f">{name}\n{''.join(letters)}\n" for name, letters in genome.items())
    (folder / "g.fa").write_text(text)
    return folder


def train(seqmtl, folder, data: str, options: str = "") -> str:
    quick = "--selection none --features spectrum:1-5 --threads 1"
    path = folder / f"{abs(hash((data, options)))}.seqmtl"
    seqmtl(f"train {data} --window {WINDOW} {quick} {options} -q -o {path}")
    return str(path)


def auroc(seqmtl, folder, arguments: str) -> float:
    path = folder / "metrics.json"
    seqmtl(f"evaluate {arguments} --bootstrap 0 --json {path} -q")
    return json.loads(path.read_text())["tasks"]["task"]["auroc"]


def test_evaluate_takes_the_windows_of_the_training(seqmtl, folder):
    reference = f"--reference {folder}/g.fa"
    model = train(seqmtl, folder, f"{folder}/chr1.bed {reference}")
    assert load_site_model(model).training["window"] == WINDOW
    for kind in ("bed", "narrowPeak"):
        assert auroc(seqmtl, folder, f"{model} {folder}/chr2.{kind} {reference}") > 0.9
    scores = {}
    for kind in ("bed", "narrowPeak", "fa", "tsv"):
        genome = reference if kind in ("bed", "narrowPeak") else ""
        out = seqmtl(f"predict {model} {folder}/chr2.{kind} {genome} --threads 1")
        rows = [line.split("\t") for line in out.out.splitlines()[1:]]
        scores[kind] = [row[2] for row in rows]
        about = "the 60 bases around the centre of each sequence are scored, as in training"
        assert (f"chr2.{kind}: {about}" in out.err) == (not genome)
    assert scores["bed"] == scores["narrowPeak"]
    assert scores["fa"] == scores["tsv"]
    assert scores["bed"] == scores["fa"][::2]  # every second window is a positive


def test_whole_sequences_stay_whole(seqmtl, folder):
    data = f"{folder}/chr1.tsv --selection none --features spectrum:1-3 -q --threads 1"
    seqmtl(f"train {data} -o {folder}/whole")
    seqmtl(f"train {data} --window 60 -o {folder}/cut")
    (folder / "s.fa").write_text(f">long\n{'A' * 40}{'ACGT' * 15}{'C' * 40}\n>short\nACGTTT\n")
    (folder / "cut.fa").write_text(f">long\n{'ACGT' * 15}\n>short\nACGTTT\n")
    table = {
        (model, name): seqmtl(f"predict {folder}/{model} {folder}/{name} -q --threads 1").out
        for model in ("whole", "cut")
        for name in ("s.fa", "cut.fa")
    }
    assert table["cut", "s.fa"] == table["cut", "cut.fa"]
    assert table["whole", "s.fa"] != table["whole", "cut.fa"]


def test_shifted_windows_are_shifted_in_all_commands(seqmtl, folder):
    reference = f"--reference {folder}/g.fa"
    model = train(seqmtl, folder, f"{folder}/chr1.bed {reference}", "--shift 30")
    moved = folder / "moved.bed"
    rows = [line.split("\t") for line in (folder / "chr2.bed").read_text().splitlines()]
    moved.write_text("".join(f"{c}\t{int(a) + 30}\t{int(b) + 30}\n" for c, a, b in rows))
    unshifted = load_site_model(model)
    unshifted.shift = 0
    unshifted.save(f"{folder}/unshifted")
    scores = []
    for path, name in ((model, "chr2"), (f"{folder}/unshifted", "moved")):
        out = seqmtl(f"predict {path} {folder}/{name}.bed {reference} -q --threads 1").out
        scores.append([line.split("\t")[1:] for line in out.splitlines()])
    assert scores[0] == scores[1]
    assert len(scores[0]) == len(rows) + 1
    (folder / "short.fa").write_text(
        f">long label=1\n{'ACGT' * 30}\n>short label=-1\n{'ACGT' * 20}\n"
    )
    error = seqmtl(f"predict {model} {folder}/short.fa", 1).err  # it has no shifted window
    assert "a sequence must have at least the window's 120 bases, got 80" in error


def test_a_window_longer_than_all_sequences_is_refused(seqmtl, folder):
    data = f"{folder}/chr1.fa --features spectrum:1-4 -o {folder}/never"
    error = seqmtl(f"train {data} --window 10000000", 2).err
    assert "--window must be at most the longest sequence, 300 bases, got 10000000" in error


def test_negatives_are_off_the_peaks_of_other_files(seqmtl, folder):
    reference = f"--reference {folder}/g.fa"
    rows = (folder / "chr1.narrowPeak").read_text().splitlines(keepends=True)
    (folder / "a.bed").write_text("".join(rows[::2]))
    (folder / "b.bed").write_text("".join(rows[1::2]) + rows[0])
    quick = f"{reference} --selection none --features spectrum:1-4 --threads 1"
    seqmtl(f"train {folder}/a.bed {quick} -o {folder}/a.seqmtl -q")
    evaluate = f"evaluate {folder}/a.seqmtl {folder}/b.bed {reference} --bootstrap 0"
    log = seqmtl(evaluate).err
    overlap = "overlap positives of the training, so results are misleading"
    inside = f"b.bed: 1 of 25 intervals {overlap}; leave out those of {folder}/a.bed"
    assert inside in log
    assert f"drawn negatives {overlap}; add --exclude {folder}/a.bed" in log
    log = seqmtl(f"{evaluate} --exclude {folder}/a.bed").err
    assert inside in log
    assert "drawn negatives" not in log
    log = seqmtl(f"{evaluate} --negatives {folder}/a.bed").err
    assert inside in log
    drawn, peaks = "is for negatives that are drawn", f"{folder}/a.bed {reference}"
    for command, message in (
        (f"train {folder}/chr1.fa --exclude {folder}/a.bed", drawn),
        (f"train {peaks} --negatives {folder}/b.bed --exclude {folder}/a.bed", drawn),
        (f"train x={peaks} --exclude y={folder}/b.bed", "must be for an organism of DATA"),
    ):
        assert message in seqmtl(f"{command} -o {folder}/never", 2).err


def test_negatives_are_off_the_peaks_of_all_files_of_the_organism(write, tmp_path, monkeypatch):
    for name in "abc":
        write("chr1\t3\t9\n", f"{name}.bed")
    monkeypatch.chdir(tmp_path)
    data = [("x", "a.bed"), ("x", "b.bed"), ("y", "c.bed")]
    source = ExampleSource.of(
        data, references=[(None, "g.fa")], excluded=[(None, "m.bed"), ("y", "n.bed")]
    )
    excluded = [part.excluded for part in source.parts]
    assert excluded == [("m.bed", "b.bed"), ("m.bed", "a.bed"), ("m.bed", "n.bed")]
    source = ExampleSource.of(data[:1], negatives=data[1:2], references=[(None, "g.fa")])
    assert [part.excluded for part in source.parts] == [(), ()]
