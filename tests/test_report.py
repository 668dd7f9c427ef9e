"""The report: one file, whole, self-contained, and with everything escaped."""

import base64
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from seqmtl.evaluation import evaluate
from seqmtl.exceptions import SeqmtlError
from seqmtl.report import (
    Convergence,
    DemoReport,
    GenomeScan,
    OrganismData,
    ThresholdRow,
    write_report,
)
from seqmtl.report._html import Markup, element, join, text
from seqmtl.report.demo_page import render_page, summarise
from seqmtl.report.figures import draw_bars, draw_convergence
from seqmtl.report.track import draw_track, richest_stretch
from seqmtl.similarity import TaskKernel, read_tree

NAMES = ("<script>alert(1)</script>", "a & b", "plain")
VOID = {"meta", "img", "br"}
FEW_FIGURES = {
    "scan": None,
    "similarity": None,
    "convergence": (),
    "test_labels": None,
    "test_scores": None,
    "test_tasks": None,
}


def make_scan(organism="plain", n=500, seed=0):
    rng = np.random.default_rng(seed)
    positions = np.sort(rng.choice(50_000, n, replace=False))
    strands = rng.choice([-1, 1], n)
    scores = rng.normal(-1, 1, n)
    return GenomeScan(
        organism=organism,
        contig="chr<3>",
        length_bp=50_000,
        positions=positions,
        strands=strands,
        scores=scores,
        site_positions=positions[::50],
        site_strands=strands[::50],
        threshold=0.5,
        rows=[ThresholdRow(0.5, 40, 6, 10), ThresholdRow(99.0, 0, 0, 10)],
        n_scored=100_000,
        seconds=0.125,
    )


def make_report(names=NAMES, seed=0, **changes):
    rng = np.random.default_rng(seed)
    tasks = np.repeat(names, 200)
    labels = rng.random(tasks.size) < 0.3
    scores = {
        method: rng.normal(size=tasks.size) + shift * labels
        for method, shift in (("individual", 1.0), ("union & all", 0.5), ("multi-task", 2.0))
    }
    methods = {m: evaluate(labels, s, tasks, n_bootstrap=20) for m, s in scores.items()}
    newick = f"(('{names[0]}':0.1,'{names[1]}':0.3):0.2,{names[2]}:0.6,other:1);"
    report = DemoReport(
        title='Demo <b> "quoted"',
        command="seqmtl demo --seed 1 && echo <x>",
        seed=1,
        organisms=[OrganismData(name, 1_000_000, 5000, 400, 200) for name in names],
        methods=methods,
        main_method="multi-task",
        test_labels=labels,
        test_scores=scores["multi-task"],
        test_tasks=tasks,
        similarity=TaskKernel(names, np.eye(3) + 1),
        tree=read_tree(newick),
        convergence=[Convergence("multi-task", [1, 2, 3], [1.0, 0.1, 0.0])],
        tolerance=1e-3,
        scan=make_scan(names[0]),
        settings={"Window": "141 bases"},
        timings={"Simulate": 2.0, "Train": 3.25},
        versions={"numpy": "2"},
    )
    return replace(report, **changes)


class Page(HTMLParser):
    """Collects tags, tables, images and visible text, and insists that tags balance."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.images, self.texts, self.attributes = [], [], [], [], []
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

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def page():
    return render_page(make_report())


def test_page_is_balanced_and_complete(page):
    parsed = Page(page)
    assert page.startswith("<!DOCTYPE html>")
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == [
        "Data",
        "Task similarity",
        "Accuracy",
        "Training",
        "Genome scan",
        "This run",
    ]
    links = [value for key, value in parsed.attributes if key == "href"]
    identities = [value for key, value in parsed.attributes if key == "id"]
    assert links == [f"#{identity}" for identity in identities]
    assert "$" not in page


def test_page_needs_no_network(page):
    parsed = Page(page)
    assert "script" not in parsed.tags
    assert "link" not in parsed.tags
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r'src="data:[^"]*"', "", page))
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in parsed.images)


def test_names_are_escaped(page):
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a &amp; b" in page
    assert "union &amp; all" in page
    assert "Demo &lt;b&gt; &quot;quoted&quot;" in page
    assert "&amp;amp;" not in page
    shown = "".join(Page(page).texts)
    for name in (*NAMES, "seqmtl demo --seed 1 && echo <x>", "chr<3>"):
        assert name in shown


def test_figures_are_inside_and_not_empty(page):
    images = Page(page).images
    assert len(images) == 5
    for image in images:
        content = base64.b64decode(image["src"].split(",", 1)[1])
        root = ElementTree.fromstring(content)
        paths = [node for node in root.iter() if node.tag.endswith("path")]
        assert len(paths) > 10
        assert image["alt"]


def test_results_table_marks_the_best(page):
    report = make_report()
    table = re.search(r"AUROC.*?</table>", page, re.DOTALL).group()
    for name in NAMES:
        for metric in ("auroc", "auprc"):
            values = {m: r["tasks"][name][metric] for m, r in report.methods.items()}
            best = max(values, key=values.get)
            for method, value in values.items():
                cell = f"<b>{value:.4f}</b>" if method == best else f"<td>{value:.4f}<"
                assert cell in table
    low, high = report.methods["multi-task"]["tasks"]["plain"]["auprc_interval"]
    assert f"{low:.4f} &ndash; {high:.4f}" in table
    assert table.count("<b>") == 2 * (len(NAMES) + 1)


def test_equal_results_are_all_bold():
    same = make_report().methods["union & all"]
    page = render_page(
        make_report(methods={"one": same, "two": same}, main_method="two", **FEW_FIGURES)
    )
    assert page.count("<b>") == 2 * 2 * (len(NAMES) + 1)


def test_scan_table(page):
    assert "<td>40</td><td>6</td><td>10</td><td>0.600</td><td>0.150</td>" in page
    assert "<td>0</td><td>0</td><td>10</td><td>0.000</td><td>n/a</td>" in page
    assert '<th scope="row"><b>0.5</b></th>' in page
    assert ThresholdRow(0.0, 0, 0, 0).recall is None


def test_sums_of_organisms_and_timings(page):
    assert "<td>3,000,000</td><td>15,000</td><td>1,200</td><td>600</td>" in page
    assert "<td>5.25 s</td>" in page


def test_summary_says_who_won():
    report = make_report()
    assert "ahead of all others in 3 of 3 organisms" in summarise(report)
    assert "ahead of all others in 0 of 3" in summarise(replace(report, main_method="union & all"))
    assert "My own words." in render_page(replace(report, summary="My own words.", **FEW_FIGURES))


def test_parts_that_are_absent_are_left_out():
    page = render_page(make_report(organisms=(), timings={}, versions={}, **FEW_FIGURES))
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["Accuracy", "This run"]
    assert len(Page(page).images) == 1


def test_task_with_one_class_is_shown_without_metrics():
    labels, tasks = [1, 0, 1, 1], ["a", "a", "b", "b"]
    result = evaluate(labels, [1.0, 0.0, 1.0, 2.0], tasks)
    report = make_report(methods={"multi-task": result}, **FEW_FIGURES)
    page = render_page(report)
    Page(page)
    assert '<th scope="row">b</th><td>n/a</td><td>n/a</td>' in page
    assert "<b>" not in page


def test_file_is_written_whole(tmp_path):
    path = tmp_path / "report.html"
    write_report(path, make_report(**FEW_FIGURES))
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(SeqmtlError, match="cannot write"):
        write_report(tmp_path / "absent" / "report.html", make_report(**FEW_FIGURES))


def test_same_report_same_page(page):
    assert render_page(make_report()) == page


def test_report_checks_its_parts():
    with pytest.raises(ValueError, match=r"main_method must be one of .*, got 'none'"):
        make_report(main_method="none")
    with pytest.raises(ValueError, match="test_scores and test_tasks must be given together"):
        make_report(test_tasks=None)
    with pytest.raises(ValueError, match=r"positions, strands, scores must have one length"):
        replace(make_scan(), scores=[1.0])
    with pytest.raises(ValueError, match=r"site_positions, site_strands must have one length"):
        replace(make_scan(), site_strands=[1])


def test_bars_and_whiskers_are_the_results():
    methods = make_report().methods
    axes = draw_bars(methods, NAMES).axes[0]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [r["tasks"][name]["auprc"] for r in methods.values() for name in NAMES]
    whiskers = [segment[:, 1].tolist() for c in axes.collections for segment in c.get_segments()]
    assert whiskers == [
        r["tasks"][name]["auprc_interval"] for r in methods.values() for name in NAMES
    ]


def test_convergence_leaves_out_gaps_that_have_no_logarithm():
    axes = draw_convergence([Convergence("run", [1, 2, 3], [1.0, 0.1, 0.0])], None).axes[0]
    assert axes.get_yscale() == "log"
    assert axes.lines[0].get_xdata().tolist() == [1, 2]


def test_track_sorts_candidates_by_truth_and_threshold():
    scan = make_scan()
    # a true site at the same place on the other strand is no true site
    scan = replace(scan, site_strands=np.append(scan.site_strands[:-1], -scan.site_strands[-1]))
    axes = draw_track(scan).axes[0]
    labels, counts = [], []
    drawn = 0
    for points in axes.collections:
        if points.get_label().startswith("_"):
            drawn += len(points.get_offsets())
        else:
            labels.append(points.get_label())
            counts.append(drawn)
            drawn = 0
    found = np.sum(scan.scores[::50][:-1] >= scan.threshold)
    assert labels[2:] == ["true site, called", "true site, missed"]
    assert counts[2:] == [found, 9 - found]
    assert sum(counts) == 500


def test_track_of_very_many_candidates_keeps_the_highest():
    rng = np.random.default_rng(0)
    scan = replace(
        make_scan(),
        positions=np.arange(30_000),
        strands=np.ones(30_000, dtype=int),
        scores=rng.normal(-9, 1, 30_000),
        site_positions=np.array([], dtype=int),
        site_strands=np.array([], dtype=int),
    )
    points = draw_track(scan).axes[0].collections[0].get_offsets()
    assert 3000 <= len(points) <= 4000
    assert points[:, 1].max() == scan.scores.max()


def test_richest_stretch():
    sites = np.array([100, 5000, 5010, 5020, 9000])
    start, end = richest_stretch(sites, 16_000)
    assert end - start == 1000
    assert start <= 5000
    assert end > 5020
    assert richest_stretch(np.array([], dtype=int), 16_000) == (0, 1000)
    assert richest_stretch(np.array([15_999]), 16_000) == (15_000, 16_000)


def test_html_pieces():
    assert text("<&>\"'") == "&lt;&amp;&gt;&quot;&#x27;"
    assert text(Markup("<br>")) == "<br>"
    assert join(["<", Markup("<br>")], "") == "&lt;<br>"
    assert element("a", "x>", href='"#', class_="c") == '<a href="&quot;#" class="c">x&gt;</a>'
