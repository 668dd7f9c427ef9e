"""The pieces of the report: results, bars, convergence, the track of a chromosome, HTML."""

from dataclasses import replace

import numpy as np
import pytest

from seqmtl.evaluation import evaluate
from seqmtl.report._html import Markup, element, join, text
from seqmtl.report._pieces import results_table
from seqmtl.report.figures import draw_bars, draw_convergence
from seqmtl.report.track import Track, draw_track, richest_stretch

NAMES = ("<script>alert(1)</script>", "a & b", "plain")


def make_track(n=500, seed=0):
    rng = np.random.default_rng(seed)
    is_site = np.zeros(n, dtype=bool)
    is_site[::50] = True
    return Track(
        organism="plain",
        contig="chr<3>",
        start=0,
        end=50_000,
        regions=np.array([[0, 50_000]]),
        positions=np.sort(rng.choice(50_000, n, replace=False)),
        is_reverse=rng.random(n) < 0.5,
        scores=rng.normal(-1, 1, n),
        is_site=is_site,
    )


@pytest.fixture(scope="module")
def methods():
    rng = np.random.default_rng(0)
    tasks = np.repeat(NAMES, 200)
    labels = rng.random(tasks.size) < 0.3
    scores = {
        method: rng.normal(size=tasks.size) + shift * labels
        for method, shift in (("individual", 1.0), ("union & all", 0.5), ("multi-task", 2.0))
    }
    return {m: evaluate(labels, s, tasks, n_bootstrap=20) for m, s in scores.items()}


def test_results_table_marks_the_best_and_escapes_names(methods):
    table = results_table(methods, list(NAMES))
    for name in NAMES:
        for metric in ("auroc", "auprc"):
            values = {m: r["tasks"][name][metric] for m, r in methods.items()}
            best = max(values, key=values.get)
            for method, value in values.items():
                cell = f"<b>{value:.4f}</b>" if method == best else f"<td>{value:.4f}<"
                assert cell in table
    low, high = methods["multi-task"]["tasks"]["plain"]["auprc_interval"]
    assert f"{low:.4f} &ndash; {high:.4f}" in table
    assert table.count("<b>") == 2 * (len(NAMES) + 1)
    assert "<script" not in table
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in table
    assert "union &amp; all" in table
    assert "&amp;amp;" not in table


def test_equal_results_are_all_bold(methods):
    same = methods["union & all"]
    table = results_table({"one": same, "two": same}, list(NAMES))
    assert table.count("<b>") == 2 * 2 * (len(NAMES) + 1)


def test_task_with_one_class_is_shown_without_metrics():
    result = evaluate([1, 0, 1, 1], [1.0, 0.0, 1.0, 2.0], ["a", "a", "b", "b"])
    table = results_table({"multi-task": result}, ["a", "b"])
    assert '<th scope="row">b</th><td>n/a</td><td>n/a</td>' in table
    assert "<b>" not in table


def test_bars_and_whiskers_are_the_results(methods):
    axes = draw_bars(methods, NAMES).axes[0]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [r["tasks"][name]["auprc"] for r in methods.values() for name in NAMES]
    whiskers = [segment[:, 1].tolist() for c in axes.collections for segment in c.get_segments()]
    assert whiskers == [
        r["tasks"][name]["auprc_interval"] for r in methods.values() for name in NAMES
    ]


def test_convergence_leaves_out_gaps_that_have_no_logarithm():
    history = [{"work": 1, "gap": 1.0}, {"work": 2, "gap": 0.1}, {"work": 3, "gap": 0.0}]
    axes = draw_convergence({"run": history}, None).axes[0]
    assert axes.get_yscale() == "log"
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [1, 2]
    assert line.get_ydata().tolist() == [1.0, 0.1]
    _, tolerance = draw_convergence({"run": history}, 0.01).axes[0].lines
    assert list(tolerance.get_ydata()) == [0.01, 0.01]


def test_track_sorts_candidates_by_truth_and_threshold():
    track = make_track()
    axes = draw_track(track, 0.5).axes[0]
    labels, counts = [], []
    drawn = 0
    for points in axes.collections:
        if points.get_label().startswith("_"):
            drawn += len(points.get_offsets())
        else:
            labels.append(points.get_label())
            counts.append(drawn)
            drawn = 0
    found = sum(score >= 0.5 for score in track.scores[::50])
    called = sum(score >= 0.5 for score in track.scores)
    assert labels == [
        "other candidate", "other candidate, called", "true site, called", "true site, missed",
    ]  # fmt: skip
    assert counts == [490 - (called - found), called - found, found, 10 - found]
    assert track.counts(0.5) == (called, found)
    assert track.counts(99.0) == (0, 0)


def test_track_of_very_many_candidates_keeps_the_highest():
    rng = np.random.default_rng(0)
    track = replace(
        make_track(),
        positions=np.arange(30_000),
        is_reverse=np.zeros(30_000, dtype=bool),
        scores=rng.normal(-9, 1, 30_000),
        is_site=np.zeros(30_000, dtype=bool),
    )
    points = draw_track(track, 0.5).axes[0].collections[0].get_offsets()
    assert 3000 <= len(points) <= 4000
    assert points[:, 1].max() == track.scores.max()


def test_what_is_in_no_test_region_is_grey():
    track = replace(make_track(), regions=np.array([[10_000, 20_000], [30_000, 50_000]]))
    axes = draw_track(track, 0.5).axes[0]
    grey = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches
            if np.allclose(patch.get_facecolor()[:3], 0xEE / 0xFF)]  # fmt: skip
    assert [(box.x0, box.x1) for box in grey] == [
        pytest.approx((0, 10)), pytest.approx((20, 30)),
    ]  # fmt: skip


def test_richest_stretch():
    sites = np.array([100, 5000, 5010, 5020, 9000])
    start, end = richest_stretch(sites, 16_000, 1000)
    assert end - start == 1000
    assert start <= 5000
    assert end > 5020
    assert richest_stretch(np.array([], dtype=int), 16_000, 1000) == (0, 1000)
    assert richest_stretch(np.array([15_999]), 16_000, 1000) == (15_000, 16_000)


def test_html_pieces():
    assert text("<&>\"'") == "&lt;&amp;&gt;&quot;&#x27;"
    assert text(Markup("<br>")) == "<br>"
    assert join(["<", Markup("<br>")], "") == "&lt;<br>"
    assert element("a", "x>", href='"#', class_="c") == '<a href="&quot;#" class="c">x&gt;</a>'
