"""Every candidate of held-out regions, against candidates found in the letters by brute force."""

import json
import re
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score

from seqmtl import MultiTaskModel, Windows
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.scanning import candidate_scores
from seqmtl.scanning.candidate_scores import score_candidates
from seqmtl.scanning.cross_fitting import score_cross_fitted
from tests.datasets.test_build import (
    OFFSET,
    WINDOW,
    annotated,
    config_text,
    make_genome,
    read_rows,
    site_of,
    write_inputs,
)
from tests.invocation import rows_of, run
from tests.oracles.annotation import reverse_complement

ATOL = 1.2e-4  # of the scanner, and of half a level


def _genome():
    """Contigs with N, a copied contig, and two that are shorter than a window."""
    contigs, genes = make_genome(31, n_genes=90, length=3000, n_contigs=6)
    contigs["chr6"] = contigs["chr1"]
    genes = [g for g in genes if g[0] != "chr6"]
    genes += [("chr6", strand, exons) for c, strand, exons in genes if c == "chr1"]
    contigs |= {"short": "ACGTGTACCAGT", "exact": "A" * (WINDOW // 2 - 1) + "GT" + "C" * 10}
    assert len(contigs["exact"]) == WINDOW
    return contigs, genes


def _train(data, path, options=""):
    run(f"train {data} --features wd:2 --selection none -o {path} {options}")
    return MultiTaskModel.load(path)


def _build(folder, by):
    """Make a data set of two organisms, split either way, and a model; return their genomes."""
    inputs = {"x": _genome(), "y": make_genome(32, n_genes=90, length=4000, n_contigs=6)}
    for name, (contigs, genes) in inputs.items():
        write_inputs(folder, contigs, genes, name)
    tables = f'[split]\nby = "{by}"\nblock = 400\nvalid = 0.3\ntest = 0.3'
    (folder / "config.toml").write_text(config_text("seed = 2", tables, organisms=("x", "y")))
    run(f"dataset {folder}/config.toml -o {folder}/out")
    _train(folder / "out", folder / "m")
    return folder, inputs


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Folder and genomes of :func:`_build`, split by blocks."""
    return _build(tmp_path_factory.mktemp("blocks"), "blocks")


@pytest.fixture(scope="module", params=["contigs", "blocks"])
def either_case(request, case, tmp_path_factory):
    """The same, split either way."""
    is_built = request.param == "blocks"
    return case if is_built else _build(tmp_path_factory.mktemp("contigs"), "contigs")


def _regions(folder):
    rows = rows_of(folder / "out" / "regions.tsv")
    return [(f[4], f[3], f[0], int(f[1]), int(f[2])) for f in rows]


def _brute_force(folder, inputs, splits, length=WINDOW, offset=OFFSET[2]):
    """Return {(organism, contig, start, strand): (label, window)}, and what is left out by kind."""
    true = {(row["organism"], *site_of(row)) for row in read_rows(folder) if row["label"] == "1"}
    found, out = {}, {"mixed": 0, "across": 0, "annotated": 0}
    for organism, split, contig, begin, end in _regions(folder):
        if split not in splits:
            continue
        contigs, genes = inputs[organism]
        letters = contigs[contig][begin:end]
        for strand in "+-":
            text = letters if strand == "+" else reverse_complement(letters)
            for match in re.finditer("(?=GT)", text):
                window = text[max(0, match.start() - offset) :][:length]
                if match.start() < offset or len(window) < length:
                    out["across"] += 1
                elif set(window) - set("ACGT"):
                    out["mixed"] += 1
                else:
                    start = match.start() if strand == "+" else len(text) - match.start() - 2
                    place = organism, contig, begin + start, strand
                    if place in true:
                        found[place] = 1, window
                    elif place[1:] in annotated(genes):
                        out["annotated"] += 1
                    else:
                        found[place] = -1, window
    assert {p for p in true if p in found} == {p for p, (label, _) in found.items() if label > 0}
    return found, out


class Expected:
    """Labels, scores and organisms of what :func:`_brute_force` found."""

    def __init__(self, model, found):
        self.tasks = np.array([place[0] for place in found])
        windows = Windows.from_strings([window for _, window in found.values()])
        self.scores = model.decision_function(windows.with_tasks(self.tasks.tolist()))
        self.labels = np.array([label for label, _ in found.values()])
        self.counts = np.ones(self.labels.size, dtype=int)

    def check(self, held):
        for organism in "xy":
            for label in (1, -1):
                expected, found = (_repeated(own, organism, label) for own in (self, held))
                assert expected.size
                assert_allclose(found, expected, atol=ATOL)


def _repeated(held, organism, label):
    mine = (held.tasks == organism) & (held.labels == label)
    return np.sort(np.repeat(held.scores[mine], held.counts[mine]))


@pytest.mark.parametrize(("split", "block"), [("valid", 1 << 20), ("test", 50), (None, 50)])
def test_every_candidate_is_scored_once(either_case, split, block, monkeypatch, caplog):
    folder, inputs = either_case
    caplog.set_level("INFO")
    monkeypatch.setattr(candidate_scores, "BLOCK", block)
    model = MultiTaskModel.load(folder / "m")
    held = score_candidates(model, folder / "out", split=split)
    splits = ("train", "valid", "test") if split is None else (split,)
    found, out = _brute_force(folder, inputs, splits)
    assert held.names == ["x", "y"]
    Expected(model, found).check(held)
    for kind, text in (
        ("mixed", "letters other than"),
        ("across", "beyond an end"),
        ("annotated", "excluded from the dataset"),
    ):
        told = [re.search(r": (\d+) ", line)[1] for line in caplog.messages if text in line]
        assert sum(map(int, told)) == out[kind], kind
        assert out[kind] or split  # copies of annotated sites are in train


def test_a_window_that_is_shorter_and_elsewhere(case, tmp_path):
    folder, inputs = case
    model = _train(folder / "out", tmp_path / "m", "--window 15 --shift 2")
    held = score_candidates(model, folder / "out", split="test")
    found, _ = _brute_force(folder, inputs, ("test",), 15, OFFSET[2] - (WINDOW - 15) // 2 - 2)
    Expected(model, found).check(held)


def _table(path, found, turned=False):
    """Write windows of :func:`_brute_force` as a table."""
    rows = [
        f"{place[0]}\t{label}\t{reverse_complement(window) if turned else window}"
        for place, (label, window) in found.items()
    ]
    path.write_text("\n".join(["organism\tlabel\tsequence", *rows]) + "\n")
    return path


def test_a_model_with_its_site_elsewhere_takes_datasets_and_no_other_windows(
    case, tmp_path, seqmtl
):
    folder, inputs = case
    length, offset = WINDOW + 9, 5  # longer than the windows of the dataset
    train, test = (
        _brute_force(folder, inputs, (split,), length, offset)[0] for split in ("train", "test")
    )
    path = tmp_path / "m"
    model = _train(_table(tmp_path / "train.tsv", train), path)
    assert (model.site.offset, model.length) == (offset, length)
    held = score_candidates(model, folder / "out", split="test")
    Expected(model, test).check(held)
    moved = _brute_force(folder, inputs, ("test",), length, offset + 1)[0]
    for windows, where in (
        (_table(tmp_path / "moved.tsv", moved), f"GT at base {offset + 1}"),
        (_table(tmp_path / "turned.tsv", test, True), "their other strand has GT"),
    ):
        told = seqmtl(f"evaluate {path} {windows}", 1).err
        assert f"windows must have GT at base {offset} as in training" in told
        assert where in told
        assert where in seqmtl(f"predict {path} {windows} -o {tmp_path}/s.tsv").err


def test_rows_that_the_model_was_trained_on_are_told(case, tmp_path, seqmtl):
    folder, _ = case
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    sure, unsure = "the model was trained on", "if the model was trained on another copy of"
    for data, split, told in (
        (folder / "out", "test", None),
        (folder / "out", "valid", None),
        (folder / "out", "train", sure),
        (folder / "out" / "windows.tsv", "all", sure),
        (copy / "out", "train", unsure),
        (copy / "out", "test", None),
    ):
        shown = seqmtl(f"evaluate {folder}/m {data} --split {split} --bootstrap 0").err
        warnings = [line for line in shown.splitlines() if "misleading" in line]
        assert len(warnings) == (told is not None), (data, split)
        assert all(f"{told} " in line and "this accuracy is" in line for line in warnings)
    for split, command, what in (
        ("test", "evaluate {} {}", "split test, so this accuracy is misleading"),
        ("valid", "calibrate {} {} -o {}", "split valid, so probabilities are misleading"),
    ):
        _train(folder / "out", tmp_path / split, f"--split {split}")
        given = tmp_path / split, folder / "out", tmp_path / "c"
        assert what in seqmtl(command.format(*given)).err
    calibrated = f"calibrate {folder}/m {folder}/out -o {tmp_path}/c"
    assert "misleading" not in seqmtl(calibrated).err


@pytest.mark.parametrize("split", ["test", "all"])
def test_evaluate_is_over_all_candidates(case, split, tmp_path, seqmtl):
    folder, inputs = case
    files = [tmp_path / name for name in ("m.json", "c.png")]
    options = f"--split {split} --bootstrap 50 --json"
    seqmtl(f"evaluate {folder}/m {folder}/out {options} {files[0]} --plot {files[1]}")
    splits = ("train", "valid", "test") if split == "all" else (split,)
    found, _ = _brute_force(folder, inputs, splits)
    expected = Expected(MultiTaskModel.load(folder / "m"), found)
    metrics = json.loads(files[0].read_text())
    for organism, entry in metrics["tasks"].items():
        mine = expected.tasks == organism
        is_true, scores = expected.labels[mine] > 0, expected.scores[mine]
        assert (entry["n"], entry["n_positive"]) == (is_true.size, is_true.sum())
        assert entry["auroc"] == pytest.approx(roc_auc_score(is_true, scores), abs=2e-4)
        auprc = average_precision_score(is_true, scores)
        assert entry["auprc_genome"] == pytest.approx(auprc, abs=5e-3)
        low, high = entry["auprc_genome_interval"]
        assert low < entry["auprc_genome"] < high
        assert entry["genome"]["auprc"] == pytest.approx(entry["auprc_genome"])
        assert entry["genome"]["prevalence"] == pytest.approx(is_true.mean())
        half = np.sort(scores[is_true])[::-1][-(-is_true.sum() // 2) - 1]
        precision = is_true[scores >= half - ATOL].mean()
        told = entry["genome"]["precision_at_recall"]["0.5"]
        assert told == pytest.approx(precision, abs=0.02)
    assert files[1].stat().st_size > 10_000
    told = seqmtl(f"evaluate {folder}/m {folder}/out/windows.tsv --organism y {options} -").out
    alone = json.loads(told)["tasks"]
    assert alone == {"y": metrics["tasks"]["y"]}


def test_calibrate_is_on_all_candidates_at_the_share_of_the_genome(case, tmp_path):
    folder, inputs = case
    out, summary = tmp_path / "c", tmp_path / "c.json"
    _train(folder / "out", tmp_path / "m", "--split test")  # so that no training region counts
    command = f"calibrate {tmp_path}/m {folder}/out -o {out} --json {summary}"
    run(command)
    found, _ = _brute_force(folder, inputs, ("valid",))
    facts = json.loads((folder / "out" / "summary.json").read_text())["organisms"]
    tasks = json.loads(summary.read_text())["tasks"]
    model = MultiTaskModel.load(out)
    for organism in "xy":
        mine = [label for place, (label, _) in found.items() if place[0] == organism]
        told = tasks[organism]
        assert (told["n"], told["n_positive"]) == (len(mine), mine.count(1))
        n_sites = facts[organism]["sites"]
        share = n_sites / (n_sites + facts[organism]["candidates"])
        assert told["prevalence"] == pytest.approx(share)
        assert model.prevalence(organism) == pytest.approx(share)
    run(f"{command} --prevalence 0.5 --organism x")
    assert json.loads(summary.read_text())["tasks"]["x"]["prevalence"] == 0.5
    assert list(MultiTaskModel.load(out).curves) == ["x"]


def test_every_position_is_a_candidate_where_letters_do_not_matter(tmp_path):
    contigs, genes = make_genome(33, n_genes=60, length=3000, n_contigs=6)
    contigs["tiny"] = "ACGT"
    write_inputs(tmp_path, contigs, genes)
    (tmp_path / "config.toml").write_text(config_text(tables='[split]\nby = "contigs"'))
    run(f"dataset {tmp_path}/config.toml --signal tss -o {tmp_path}/out")
    model = _train(tmp_path / "out", tmp_path / "m")
    held = score_candidates(model, tmp_path / "out", split="test")
    true = {
        (row["contig"], int(row["start"]), row["strand"])
        for row in read_rows(tmp_path)
        if row["label"] == "1"
    }
    other = {
        (row[0], int(row[1]) - WINDOW // 2, row[5])
        for row in rows_of(tmp_path / "out" / "sites.tsv")
        if row[7] == "0"
    }
    expected = {1: [], -1: []}
    for _, split, contig, begin, end in _regions(tmp_path):
        for start in range(begin, end - WINDOW + 1) if split == "test" else ():
            window = contigs[contig][start : start + WINDOW]
            for strand in "+-" if "N" not in window else "":
                if (contig, start, strand) not in other:
                    label = 1 if (contig, start, strand) in true else -1
                    text = window if strand == "+" else reverse_complement(window)
                    expected[label].append(text)
    for label, texts in expected.items():
        scores = model.decision_function(Windows.from_strings(texts).with_tasks(["x"] * len(texts)))
        assert_allclose(_repeated(held, "x", label), np.sort(scores), atol=ATOL)


def test_errors(case, tmp_path, seqmtl):
    folder, _ = case
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    model = MultiTaskModel.load(copy / "m")
    out = copy / "out"
    with pytest.raises(SeqmtlError, match=r"no candidates in split 'dev' of x, y; the splits are"):
        score_candidates(model, out, split="dev")
    assert set(score_candidates(model, out, split="test", organism="X").tasks) == {"x"}
    with pytest.raises(SeqmtlError, match="a dataset must have windows"):
        score_candidates(model, copy / "x.fa", split="test")
    for name, old, new, message in (
        ("regions.tsv", "#contig", "#place", "the first line must be .#contig"),
        ("regions.tsv", "\ttrain\t", "\ttrain ", "must have 5 tab-separated"),
        ("regions.tsv", "\nchr1\t", "\nchr9\t", "contig must be one of .* got 'chr9'"),
        ("sites.tsv", "\nchr1\t", "\nchr1\t9", "must start before it ends"),
        ("sites.tsv", "\nchr1\t", "\nchr1\t-", "start must be a whole number"),
    ):
        text = (out / name).read_text()
        assert old in text
        (out / name).write_text(text.replace(old, new))
        with pytest.raises(InputFormatError, match=rf"{name}:\d+: .*{message}"):
            score_candidates(model, out, split=None)
        (out / name).write_text(text)
    (out / "sites.tsv").unlink()
    told = seqmtl(f"evaluate {copy}/m {out}", 1).err
    assert "earlier versions did not write it" in told


def test_training_regions_are_scored_by_models_that_have_not_seen_them(case):
    folder, _ = case
    model = MultiTaskModel.load(folder / "m")
    seen = score_candidates(model, folder / "out", split="train")
    unseen = score_cross_fitted(model, folder / "out")
    for name in ("x", "y"):
        mine, own = seen.tasks == name, unseen.tasks == name
        for label in (1, -1):  # a few windows go over the cuts
            n = seen.counts[mine & (seen.labels == label)].sum()
            assert 0.9 * n <= unseen.counts[own & (unseen.labels == label)].sum() <= n
        means = []
        for held in (seen, unseen):
            rows = (held.tasks == name) & (held.labels > 0)
            means.append(np.average(held.scores[rows], weights=held.counts[rows]))
        assert means[1] < means[0] - 0.1  # what a model knows, it scores too high
    assert np.unique(unseen.blocks // 1000).tolist() == [0, 1, 2, 3]
    only = score_cross_fitted(model, folder / "out", organism="y")
    assert set(only.tasks) == {"y"}
    assert only.counts.sum() == unseen.counts[unseen.tasks == "y"].sum()


def test_a_model_of_other_windows_is_calibrated_on_validation_regions_only(case, tmp_path):
    folder, _ = case
    model = MultiTaskModel.load(folder / "m")
    model.training["tasks"]["x"]["n"] += 1
    assert score_cross_fitted(model, folder / "out") is None
    model.save(tmp_path / "other")
    n_sites = []
    for path in (tmp_path / "other", folder / "m"):
        run(f"calibrate {path} {folder}/out -o {tmp_path}/c")
        calibrated = MultiTaskModel.load(tmp_path / "c")
        n_sites.append(calibrated.training["calibration"]["x"]["n_positive"])
    rows = [row for row in read_rows(folder) if (row["organism"], row["split"]) == ("x", "valid")]
    assert n_sites[0] == sum(row["label"] == "1" for row in rows)
    assert n_sites[1] > 1.5 * n_sites[0]
