"""The page of a folder of results: what it finds, what it says, and how a browser shows it."""

import json
import re
import shutil
import subprocess

import pytest
from PIL import Image

from seqmtl.cli.main import main
from seqmtl.exceptions import SeqmtlError
from seqmtl.report.folder import read_folder


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
    _run("train", data, "--features", "wd:3", "--similarity", "independent",
         "-o", out / "acceptor" / "alone.seqmtl")  # fmt: skip
    _run("calibrate", out / "acceptor" / "raw.seqmtl", data, "-o", out / "joint.seqmtl")
    sizes = {"bee": {"train": {"n": 90}}}
    for n, score in ((90, 0.5), (300, 0.7)):
        sizes["bee"]["train"]["n"] = n
        comparison = {
            "schema_version": 1, "splits": [0], "sizes": sizes, "settings": {},
            "methods": {"union": {"tasks": {"bee": {"auroc": [score], "auprc": [score]}}}},
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


def test_probabilities_are_at_the_share_of_the_whole_genome(results):
    summary = json.loads((results / "acceptor" / "dataset" / "summary.json").read_text())
    calibration = read_folder(results, n_bootstrap=0).signals["acceptor"].models["joint"].training
    rows = (results / "acceptor" / "dataset" / "windows.tsv").read_text().splitlines()[1:]
    for name in summary["organisms"]:
        own = [line.split("\t") for line in rows if line.split("\t")[6] == name]
        n_sites = sum(row[7] == "1" for row in own)
        places = sum(float(row[9]) for row in own)
        found = calibration["calibration"][name]["prevalence"]
        assert found == pytest.approx(n_sites / places, rel=1e-4)


def test_the_page_has_its_sections_and_needs_no_network(page):
    text = page.read_text()
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    assert headings == [
        "Data", "Similarity", "What was chosen", "Accuracy", "Calibration", "Training",
        "What was learnt", "Models", "Learning curve", "This page",
    ]  # fmt: skip
    assert re.search(r"wd:3: [\d,]+ weights", text)
    assert "Genes &amp; more" in text
    assert "a&lt;b" in text
    assert "a<b" not in text
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "notes.json" in text


def test_the_numbers_are_those_of_evaluate(results, page, capsys):
    model, data = results / "joint.seqmtl", results / "acceptor" / "dataset"
    _run("evaluate", model, data, "--json", "-", "--bootstrap", 0)
    metrics = json.loads(capsys.readouterr().out)
    text = page.read_text()
    assert f"{metrics['mean']['auprc']:.4f}" in text
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
        check=True, capture_output=True, timeout=90,
    )  # fmt: skip
    with Image.open(shot) as image:
        assert image.size == (1280, 4000)
        assert len(image.convert("RGB").getcolors(1 << 24)) > 500  # heat maps, logos, curves
    done = subprocess.run(
        [*command, "--dump-dom", url], check=True, capture_output=True, text=True, timeout=90
    )
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


@pytest.mark.parametrize(
    "content",
    [
        '{"kind": "seqmtl dataset"}',
        '{"command": "scan"}',
        '{"command": "scan", "scans": 3}',
        '{"methods": [], "splits": 3, "sizes": 1}',
        "[" * 100_000,
    ],
)
def test_files_of_other_programs_do_not_stop_the_report(tmp_path, results, content):
    shutil.copy(results / "joint.seqmtl", tmp_path)
    (tmp_path / "summary.json").write_text(content)
    _run("report", tmp_path, "-o", tmp_path / "r.html", "--bootstrap", 0)
    assert "Similarity" in (tmp_path / "r.html").read_text()


def test_thresholds_of_rare_sites_are_no_zeros(tmp_path, results, capsys):
    data = results / "acceptor" / "dataset"
    rare = tmp_path / "rare.seqmtl"
    _run("calibrate", results / "joint.seqmtl", data, "-o", rare, "--prevalence", 1e-6)
    table = capsys.readouterr().out
    _run("report", tmp_path, "-o", tmp_path / "r.html", "--bootstrap", 0)
    page = (tmp_path / "r.html").read_text()
    assert main(["info", str(rare)]) == 0
    shown = re.findall(r"probability +(\S+)", capsys.readouterr().out)
    shown += [line.split("\t")[-1] for line in table.splitlines()[1:]]
    rows = re.findall(r"<tr>.*?<td>sigmoid</td>.*?</tr>", page)
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
