"""The page of a folder of results: what it finds, what it says, and how a browser shows it."""

import base64
import json
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser

import pytest
from PIL import Image

from seqmtl import MultiTaskModel
from seqmtl.cli.main import main
from seqmtl.exceptions import SeqmtlError
from seqmtl.io import read_dataset
from seqmtl.report.folder import read_folder
from seqmtl.report.page import summarise
from seqmtl.report.track import score_track
from seqmtl.scan.held_out import score_held_out

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
        assert self.open.pop() == tag


def _run(*arguments):
    assert main([*map(str, arguments), "-q"]) == 0


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Simulated genomes, a data set, three models and a comparison in one folder."""
    folder = tmp_path_factory.mktemp("report")
    _run("simulate", "--tree", "((a<b:0.1,bee:0.1):0.2,cat:0.4);", "--chromosome-length", 120_000,
         "--no-windows", "-o", folder / "sim")  # fmt: skip
    config = folder / "sim" / "dataset.toml"
    out = folder / "out"
    (out / "acceptor").mkdir(parents=True)
    _run("dataset", config, "--signal", "acceptor", "-o", out / "acceptor" / "dataset")
    data = out / "acceptor" / "dataset"
    _run("train", data, "--features", "wd:3", "-o", out / "acceptor" / "raw.seqmtl")
    _run("train", data, "--features", "wd:3", "--similarity", "individual",
         "-o", out / "acceptor" / "alone.seqmtl")  # fmt: skip
    _run("calibrate", out / "acceptor" / "raw.seqmtl", data, "-o", out / "joint.seqmtl")
    sizes = {"bee": {"train": {"n": 90}}}
    for n, score in ((90, 0.5), (300, 0.7)):
        sizes["bee"]["train"]["n"] = n
        comparison = {
            "schema_version": 2, "drawn": [], "splits": [0], "sizes": sizes, "settings": {},
            "fingerprint": "",
            "methods": {
                "union": {
                    "tasks": {
                        "bee": {
                            "auroc": [score], "auprc_windows": [score],
                            "auroc_interval": [[score, score]],
                            "auprc_windows_interval": [[score, score]],
                        }
                    },
                    "chosen": [{}], "converged": [True],
                }
            },
        }  # fmt: skip
        (out / f"comparison{n}.json").write_text(json.dumps(comparison))
    (out / "notes.json").write_text("{broken")
    (out / "cut.seqmtl").write_bytes((out / "joint.seqmtl").read_bytes()[:1000])
    return out


@pytest.fixture(scope="module")
def page(results):
    path = results.parent / "report.html"
    _run("report", results, "-o", path, "--title", "Genes & more", "--bootstrap", 20)
    return path


def test_models_of_equal_weights_are_one_and_the_calibrated_stays(results):
    found = read_folder(results, n_bootstrap=0)
    signal = found.signals["acceptor"]
    assert set(signal.models) == {"joint", "acceptor/alone"}
    assert signal.models["joint"].curves
    assert set(signal.metrics) == set(signal.models)
    assert any("the weights of" in line for line in found.left_out)
    assert any("notes.json" in line for line in found.left_out)
    assert any("cut.seqmtl" in line for line in found.left_out)
    assert set(found.comparisons) == {"comparison90.json", "comparison300.json"}


def test_probabilities_are_at_the_share_of_the_regions_that_are_not_for_tests(results):
    dataset = results / "acceptor" / "dataset"
    model = read_folder(results, n_bootstrap=0).signals["acceptor"].models["joint"]
    for name in json.loads((dataset / "summary.json").read_text())["organisms"]:
        parts = [score_held_out(model, dataset, split=s, organism=name) for s in ("train", "valid")]
        n_sites, n = (
            sum(part.counts[keep(part)].sum() for part in parts)
            for keep in (lambda part: part.labels > 0, lambda part: slice(None))
        )
        found = model.training["calibration"][name]["prevalence"]
        # windows across a cut between folds are in none: here 35 of 35,790, one of them a site
        assert found == pytest.approx(n_sites / n, rel=1 / n_sites)


def test_the_page_has_its_sections_and_needs_no_network(page):
    text = page.read_text()
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    assert headings == [
        "Data", "Similarity", "What was chosen", "Accuracy", "Calibration",
        "Along a chromosome", "Training", "What was learnt", "Models", "Learning curve",
        "This page",
    ]  # fmt: skip
    assert re.search(r"wd:3: [\d,]+ weights", text)
    assert "Genes &amp; more" in text
    assert "a&lt;b" in text
    assert "a<b" not in text
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "notes.json" in text


def test_the_page_is_whole_and_can_be_navigated(page):
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")
    parsed = Page(text)
    links = [value for key, value in parsed.attributes if key == "href"]
    assert links == [f"#{value}" for key, value in parsed.attributes if key == "id"]
    assert not {"script", "link"} & set(parsed.tags)
    for image in parsed.images:
        assert image["alt"]
        assert image["src"].startswith("data:image/svg+xml;base64,")
        drawing = ElementTree.fromstring(base64.b64decode(image["src"].split(",", 1)[1]))
        assert sum(node.tag.endswith("path") for node in drawing.iter()) > 10
    titles = [image["alt"] for image in parsed.images]
    for title in ("Bars of AUPRC", "Relative duality gap", "ROC and precision-recall", "Scores"):
        assert sum(alternative.startswith(title) for alternative in titles) == 1


def test_the_page_is_about_the_model_that_shares_and_shows_all(results, page, capsys):
    found = read_folder(results, n_bootstrap=0).signals["acceptor"]
    assert found.main == "joint"
    assert list(found.metrics) == ["joint", "acceptor/alone"]
    means = {}
    for name in found.models:
        _run("evaluate", results / f"{name}.seqmtl", results / "acceptor" / "dataset",
             "--json", "-", "--bootstrap", 0)  # fmt: skip
        means[name] = json.loads(capsys.readouterr().out)
    text = page.read_text()
    main, other = (
        f"{means[name]['mean']['auprc_genome']:.3f}" for name in ("joint", "acceptor/alone")
    )
    shown = re.findall(r'<div class="(card[^"]*)"><span class="number">(.*?)</span>', text)
    assert shown == [("card main", main), ("card", other)]
    ahead = sum(
        task["auprc_genome"] > means["acceptor/alone"]["tasks"][name]["auprc_genome"]
        for name, task in means["joint"]["tasks"].items()
    )
    assert f"(AUPRC of the others: {other} for acceptor/alone)" in text
    assert f"ahead of all others in {ahead} of 3 organism(s)" in text


def test_the_main_model_is_chosen_by_what_it_is_not_by_its_name_or_test_labels(results, tmp_path):
    data = results / "acceptor" / "dataset"
    for name, options in {
        "a_individual": ("--similarity", "individual"),
        "b_union": ("--similarity", "union"),
        "c_tree": ("--tree", results.parent / "sim" / "tree.nwk"),
    }.items():
        _run("train", data, "--features", "wd:2", "--selection", "none", *options,
             "-o", tmp_path / f"{name}.seqmtl")  # fmt: skip
    assert read_folder(tmp_path).signals["acceptor"].main == "c_tree"
    # the default: what is shared was chosen on held-out labels
    shutil.copy(results / "acceptor" / "raw.seqmtl", tmp_path / "d_default.seqmtl")
    assert read_folder(tmp_path).signals["acceptor"].main == "d_default"
    # whatever the test labels say
    found = read_folder(tmp_path).signals["acceptor"]
    found.metrics = {
        name: {"mean": {"auprc_genome": float(name == "a_individual")}, "tasks": {}}
        for name in found.models
    }
    assert found.main == "d_default"


def test_an_adapted_copy_is_no_rival_of_its_model(results, tmp_path):
    data = results / "acceptor" / "dataset"
    model = MultiTaskModel.load(results / "joint.seqmtl")
    windows = read_dataset(data, split="train", organism="bee").windows
    windows = windows.center(model.length)
    for name, own in (("adapted", model.adapt("dog", windows, like="bee")), ("joint", model)):
        own.save(tmp_path / f"{name}.seqmtl")
    signal = read_folder(tmp_path).signals["acceptor"]
    assert list(signal.models) == ["joint"]
    added = f"adapted is joint with dog ({len(windows):,} windows) added by seqmtl adapt."
    assert signal.copies == {"adapted": added}
    (tmp_path / "joint.seqmtl").unlink()
    assert list(read_folder(tmp_path).signals["acceptor"].models) == ["adapted"]


def test_the_summary_tells_ties(results):
    found = read_folder(results, n_bootstrap=0)
    found.signals["acceptor"].metrics = {
        name: {"mean": {"auprc_genome": 0.5, "auroc": 0.5},
               "tasks": {"bee": {"auprc_genome": 0.5}, "cat": {"auprc_genome": 0.4 + other / 9}}}
        for other, name in enumerate(("joint", "acceptor/alone"))
    }  # fmt: skip
    text = summarise(found)
    assert "ahead of all others in 0 of 2 organism(s), equal to the best of them in 1" in text
    assert text.startswith("Splice acceptors: the model joint.seqmtl of 3 organisms reaches")


def test_the_track_and_its_thresholds_are_what_scan_and_annotation_say(results, page, tmp_path):
    model = read_folder(results, n_bootstrap=0).signals["acceptor"].models["joint"]
    sizes = {name: model.training["tasks"][name]["n"] for name in model.tasks}
    organism = min(sizes, key=sizes.get)
    config = tomllib.loads((results.parent / "sim" / "dataset.toml").read_text())
    genome = results.parent / "sim" / config["organisms"][organism]["genome"]
    scores = {}
    _run("scan", results / "joint.seqmtl", genome, "--organism", organism,
         "-o", tmp_path / "s.gff3")  # fmt: skip
    for line in (tmp_path / "s.gff3").read_text().splitlines():
        if not line.startswith("#"):
            contig, _, _, start, _, _, strand, _, notes = line.split("\t")
            raw = re.search(r"(?:^|;)score=([^;]+)", notes).group(1)
            scores[contig, int(start) - 1, strand] = float(raw)
    data = results / "acceptor" / "dataset"
    tested = [line.split("\t") for line in (data / "regions.tsv").read_text().splitlines()[1:]]
    tested = [row for row in tested if row[3:] == ["test", organism]]
    sites = [line.split("\t") for line in (data / "sites.tsv").read_text().splitlines()[1:]]
    true = {(row[0], int(row[1]), row[5]) for row in sites if row[6] == organism and row[7] == "1"}
    n_true = Counter(
        contig for contig, start, _ in true
        if any(c == contig and int(a) <= start < int(b) for c, a, b, *_ in tested)
    )  # fmt: skip
    track = score_track(model, data, organism)
    assert n_true[track.contig] == max(n_true.values())
    assert track.is_site.sum() == n_true[track.contig]
    for position, is_reverse, score, is_site in zip(
        track.positions, track.is_reverse, track.scores, track.is_site, strict=True
    ):
        place = (track.contig, int(position), "-" if is_reverse else "+")
        assert scores[place] == pytest.approx(score, abs=2e-4)
        assert (place in true) == is_site
    section = re.search(r'id="along-a-chromosome".*?</section>', page.read_text(), re.DOTALL)
    rows = re.findall(r'<th scope="row">(.*?)</th>((?:<td>.*?</td>)+)', section.group())
    thresholds = [row["score"] for row in model.training["calibration"][organism]["thresholds"]]
    assert len(rows) == len(set(thresholds))
    for (_, cells), threshold in zip(rows, sorted(set(thresholds)), strict=True):
        called = track.scores >= threshold
        correct, n_sites = (called & track.is_site).sum(), track.is_site.sum()
        assert re.findall(r"<td>(.*?)</td>", cells) == [
            f"{called.sum():,}", f"{correct:,}", f"{n_sites:,}", f"{correct / n_sites:.3f}",
            f"{correct / called.sum():.3f}",
        ]  # fmt: skip
    assert [shown.startswith("<b>") for shown, _ in rows].count(True) == 1


def test_the_numbers_are_those_of_evaluate(results, page, capsys):
    model, data = results / "joint.seqmtl", results / "acceptor" / "dataset"
    _run("evaluate", model, data, "--json", "-", "--bootstrap", 0)
    metrics = json.loads(capsys.readouterr().out)
    text = page.read_text()
    assert f"{metrics['mean']['auprc_genome']:.4f}" in text
    for task in metrics["tasks"].values():
        assert f"{task['auroc']:.4f}" in text
        assert f"{task['genome']['precision_at_recall']['0.8']:.3f}" in text


def test_a_browser_shows_text_and_pictures(page, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no Chromium here")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    quiet += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    shot = tmp_path / "page.png"
    command = [browser, *quiet, f"--user-data-dir={tmp_path / 'profile'}"]
    url = page.as_uri()
    subprocess.run(
        [*command, "--window-size=1280,4000", f"--screenshot={shot}", url],
        check=True, capture_output=True,
    )  # fmt: skip
    with Image.open(shot) as image:
        assert image.size == (1280, 4000)
        assert len(image.convert("RGB").getcolors(1 << 24)) > 500  # heat maps, logos, curves
    done = subprocess.run([*command, "--dump-dom", url], check=True, capture_output=True, text=True)
    assert "What was learnt" in done.stdout
    assert done.stdout.count("<img") == page.read_text().count("<img") > 6


def test_copies_of_a_summary_and_further_data_sets(results, tmp_path):
    # dataset --json writes the summary a second time, wherever the user likes
    for name in ("one", "two"):
        _run("dataset", results.parent / "sim" / "dataset.toml", "--signal", "donor",
             "-o", tmp_path / name, "--json", tmp_path / f"{name}.json")  # fmt: skip
    found = read_folder(tmp_path, n_bootstrap=0)
    assert list(found.signals) == ["donor"]
    assert found.signals["donor"].folder == str(tmp_path / "one")
    (line,) = found.left_out
    assert line.startswith(str(tmp_path / "two" / "summary.json"))
    assert "a second data set of donor" in line


def test_files_of_other_programs_do_not_stop_the_report(tmp_path, results):
    shutil.copy(results / "joint.seqmtl", tmp_path)
    for name, content in {
        "dataset": '{"kind": "seqmtl dataset"}',
        "scan": '{"command": "scan"}',
        "scans": '{"command": "scan", "scans": 3}',
        "comparison": '{"methods": [], "splits": 3, "sizes": 1}',
        "deep": "[" * 100_000,
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.json").write_text(content)
    _run("report", tmp_path, "-o", tmp_path / "r.html", "--bootstrap", 0)
    assert "Similarity" in (tmp_path / "r.html").read_text()
    left_out = read_folder(tmp_path, n_bootstrap=0).left_out
    assert [line.split(":")[0] for line in left_out] == [
        str(tmp_path / name / "summary.json") for name in ("dataset", "deep")
    ]


def test_thresholds_of_rare_sites_are_no_zeros(tmp_path, results, capsys):
    data = results / "acceptor" / "dataset"
    rare = tmp_path / "rare.seqmtl"
    _run("calibrate", results / "joint.seqmtl", data, "-o", rare, "--prevalence", 1e-6)
    table = capsys.readouterr().out
    _run("report", tmp_path, "-o", tmp_path / "r.html", "--bootstrap", 0)
    page = (tmp_path / "r.html").read_text()
    assert main(["info", str(rare)]) == 0
    shown = re.findall(r"probability +(\S+)", capsys.readouterr().out)
    shown += [line.split("\t")[-1] for line in table.split("\n\n")[0].splitlines()[1:]]
    rows = re.findall(r"<tr>.*?<td>(?:sigmoid|isotonic)</td>.*?</tr>", page)
    shown += [re.findall(r"<td>(.*?)</td>", row)[3] for row in rows]
    assert len(shown) == 3 * 12  # three places, three organisms, four recalls
    assert min(map(float, shown)) > 0


def test_bad_folders(tmp_path, results, capsys):
    with pytest.raises(SeqmtlError, match="no such folder"):
        read_folder(tmp_path / "absent")
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "r.html")]) == 1
    assert "neither a data set nor a model" in capsys.readouterr().err
    tree = tmp_path / "t.nwk"
    tree.write_text("(bee:1,cat:1);")
    out = tmp_path / "r.html"
    assert main(["report", str(results), "--tree", str(tree), "-o", str(out)]) == 1
    assert "a<b" in capsys.readouterr().err
    assert not out.exists()
