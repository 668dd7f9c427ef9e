"""The page of a folder of results: what is found in it, and what the page says."""

import base64
import json
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from seqmtl import TaskKernel, load
from seqmtl.exceptions import SeqmtlError
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.reporting.contents import Signal
from seqmtl.reporting.folder import read_folder
from seqmtl.reporting.summary_text import summarise
from seqmtl.scanning.candidate_scores import score_candidates
from tests.invocation import run
from tests.scanning.test_sliding import make_model as make_sliding_model

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Collects tags, images and attributes, and insists that tags balance."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.images, self.attributes = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag


@pytest.fixture(scope="module")
def results(world, tmp_path_factory):
    """A dataset, three models and two evaluations in a folder."""
    out = tmp_path_factory.mktemp("report") / "out"
    (out / "acceptor").mkdir(parents=True)
    data, alone, joint = (
        out / name for name in ("acceptor/dataset", "acceptor/alone.seqmtl", "joint.seqmtl")
    )
    data.symlink_to(world.dataset("acceptor"))
    shutil.copy(world.trained("acceptor"), out / "acceptor" / "raw.seqmtl")
    shutil.copy(world.calibrated("acceptor"), joint)
    options = "--features wd:3 --similarity individual -C 1 --selection none"
    run(f"train {data} {options} --window 41 -o {alone}")
    plot = f"--plot {out}/curves.png"
    run(f"evaluate {joint} {data} --bootstrap 20 --json {out}/joint.json {plot}")
    run(f"evaluate {alone} {data} --bootstrap 0 --json {out}/acceptor/alone.json")
    run(f"evaluate {joint} {data} --bootstrap 0 --split valid --json {out}/v.json")
    (out / "notes.json").write_text("{broken")
    (out / "cut.seqmtl").write_bytes(joint.read_bytes()[:1000])
    return out


@pytest.fixture(scope="module")
def evaluated(results):
    """Return the metrics of both models."""
    files = {"joint": results / "joint.json", "acceptor/alone": results / "acceptor/alone.json"}
    return {name: json.loads(path.read_text()) for name, path in files.items()}


@pytest.fixture(scope="module")
def page(results):
    path = results.parent / "genes & more.html"
    run(f"report {results} -o '{path}'")
    return path


def test_files_are_recognised_by_their_content(results, evaluated):
    contents = read_folder(results)
    signal = contents.signals["acceptor"]
    assert set(signal.models) == {"joint", "acceptor/raw", "acceptor/alone"}
    assert signal.main == "joint"
    assert signal.ordered_metrics() == evaluated
    assert list(signal.ordered_metrics()) == ["joint", "acceptor/alone"]
    assert signal.curves == {"joint": str(results / "curves.png")}
    skipped = "\n".join(contents.skipped)
    for name in ("notes.json", "cut.seqmtl", "v.json: evaluated on the split 'valid'"):
        assert name in skipped


def test_probabilities_are_at_the_share_of_the_regions_that_are_not_for_tests(results):
    dataset = results / "acceptor" / "dataset"
    model = load(read_folder(results).signals["acceptor"].files["joint"])
    for name in json.loads((dataset / "summary.json").read_text())["organisms"]:
        parts = [
            score_candidates(model, dataset, split=s, organism=name) for s in ("train", "valid")
        ]
        n_sites, n = (
            sum(part.counts[keep(part)].sum() for part in parts)
            for keep in (lambda part: part.labels > 0, lambda part: slice(None))
        )
        prevalence = model.training["calibration"][name]["prevalence"]
        # windows across a cut between folds are in none: here 35 of 35,790, one of them a site
        assert prevalence == pytest.approx(n_sites / n, rel=1 / n_sites)


def test_the_page_is_whole_and_needs_no_network(results, page):
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")
    parsed = Page(text)
    assert re.findall(r"<h2>(.*?)</h2>", text) == [
        "Data",
        "Accuracy",
        "Feature importance",
        "About this page",
    ]
    assert "genes &amp; more.html" in text
    assert "genes & more" not in text
    assert "notes.json" in text
    assert not {"script", "link"} & set(parsed.tags)
    addresses = [value for key, value in parsed.attributes if key == "href"]
    anchors = [f"#{value}" for key, value in parsed.attributes if key == "id"]
    assert [address for address in addresses if address[0] == "#"] == anchors
    files = {address for address in addresses if address[0] != "#"}
    assert {"out/joint.json", "out/joint.seqmtl"} <= files
    assert all((page.parent / name).is_file() for name in files)
    for image in parsed.images:
        kind, content = image["src"].split(";base64,")
        if kind == "data:image/svg+xml":
            drawing = ElementTree.fromstring(base64.b64decode(content))
            assert sum(node.tag.endswith("path") for node in drawing.iter()) > 10
        else:
            assert base64.b64decode(content).startswith(b"\x89PNG")
    titles = [image["alt"] for image in parsed.images]
    for title in (
        "AUROC and AUPRC by organism",
        "ROC and precision-recall",
        "Fraction of true sites",
    ):
        assert sum(alternative.startswith(title) for alternative in titles) >= 1
    assert titles.count("AUROC and AUPRC by organism and method") == 1


def test_the_numbers_are_those_of_evaluate(evaluated, page):
    text = page.read_text()
    joint, alone = evaluated.values()
    main, other = (f"{metrics['mean']['auprc_genome']:.3f}" for metrics in (joint, alone))
    assert f"Splice acceptors (joint.seqmtl): mean AUPRC (genome) {main}" in text
    assert re.search(f"; acceptor/alone: {other}( \\(tie\\))?\\.", text)
    for task in joint["tasks"].values():
        low, high = task["auprc_genome_interval"]
        assert f"{task['auprc_genome']:.4f} ({low:.4f}-{high:.4f})" in text
        assert f"<td>{task['genome']['precision_at_recall']['0.8']:.3f}</td>" in text
        for row in task["reliability"]:
            low, high = row["true_interval"]
            assert f"<td>{low:,.1f}-{high:,.1f}</td><td>{row['calibrated']}</td>" in text


def _model(kernel, training=None):
    return SimpleNamespace(tasks=kernel.names, kernel=kernel, training=training or {}, curves={})


def test_the_main_model_is_chosen_by_what_it_is_not_by_its_name_or_test_labels():
    names = ["a", "b", "c"]
    tree = _model(TaskKernel.from_tree("((a:1,b:1):1,c:2);"))
    signal = Signal("acceptor", models={"a_individual": _model(TaskKernel.individual(names))})
    signal.models |= {"b_union": _model(TaskKernel.union(names)), "c_tree": tree}
    assert signal.main == "c_tree"
    # the default, selected on held-out labels
    signal.models["d_default"] = _model(tree.kernel, {"selection": {"tasks": {"a": {}}}})
    assert signal.main == "d_default"
    signal.dataset = {"organisms": {"another": {}}}
    signal.models["e_other"] = _model(TaskKernel.union(["another"]))
    assert signal.main == "e_other"
    signal.dataset = {}
    signal.metrics = {"a_individual": {}, "b_union": {}}
    assert signal.main == "d_default"


def _metrics(value, half, n_tasks=4):
    """Return metrics of tasks with the same value and interval."""
    task = {"auprc_genome": value, "auprc_genome_interval": [value - half, value + half]}
    return {"tasks": {f"t{i}": {**task, "auroc": value} for i in range(n_tasks)}}


def test_the_summary_names_ties(results):
    contents = read_folder(results)
    signal = contents.signals["acceptor"]
    for other, is_tie in ((0.70, False), (0.78, True), (0.82, True), (0.9, False)):
        signal.metrics = {"joint": _metrics(0.8, 0.06), "acceptor/alone": _metrics(other, 0.04)}
        # the error of the mean of four organisms is half of one's
        assert summarise(contents) == [
            "Splice acceptors (joint.seqmtl): mean AUPRC (genome) 0.800 (0.770-0.830); "
            f"acceptor/alone: {other:.3f}{' (tie)' if is_tie else ''}."
        ]


def test_weights_of_models_do_not_stay_in_memory(results):
    """A folder may have hundreds of models."""
    contents = read_folder(results)
    signal = contents.signals["acceptor"]
    assert {model.W.shape[1] for model in signal.models.values()} == {0}
    for model in contents.paired.values():
        assert {site.W.shape[1] for site in model.site_models.values()} == {0}
    if os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps") as maps:
            assert str(results) not in maps.read()
    assert MultiTaskModel.load(signal.files[signal.main]).W.shape[1]


def test_copies_of_a_summary_and_further_data_sets(results, tmp_path):
    summary = results / "acceptor" / "dataset" / "summary.json"
    shutil.copy(summary, tmp_path / "one.json")  # dataset --json writes it wherever the user likes
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(summary, tmp_path / name)
    contents = read_folder(tmp_path)
    assert contents.signals["acceptor"].dataset == json.loads(summary.read_text())
    (line,) = contents.skipped
    assert line.startswith(f"{tmp_path}/two/summary.json: a second dataset of acceptor")


def test_bad_folders(tmp_path, results, write, seqmtl):
    with pytest.raises(SeqmtlError, match="no such folder"):
        read_folder(tmp_path / "absent")
    out = tmp_path / "r.html"
    empty = write("", "empty.gff3")
    for arguments, message in (
        (tmp_path, "contains neither a dataset nor a model"),
        (f"{results} --annotation bee={empty}", f"{empty}: an annotation must have"),
    ):
        assert message in seqmtl(f"report {arguments} -o {out}", 1).err
    assert not out.exists()


def test_a_model_without_a_site_shows_its_kmers(seqmtl, tmp_path):
    (tmp_path / "in").mkdir()
    make_sliding_model("spectrum:1-4,gapped:6/4").save(tmp_path / "in" / "tf.seqmtl")
    seqmtl(f"report {tmp_path}/in -o {tmp_path}/r.html")
    page = (tmp_path / "r.html").read_text()
    assert all(f"Weights of k-mers, {name}" in page for name in ("man", "fly"))
    assert "Importance of k-mers" not in page
