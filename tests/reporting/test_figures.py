"""Results of several models: table, dots."""

import numpy as np
import pytest

from seqmtl.evaluation import evaluate, expected_sites
from seqmtl.evaluation.cells import draw_dots, metric_cells
from seqmtl.reporting.figures import draw_lengths
from seqmtl.reporting.html import fill
from seqmtl.reporting.signal_sections import results

NAMES = ("<script>alert(1)</script>", "a & b", "plain")


@pytest.fixture(scope="module")
def methods():
    rng = np.random.default_rng(0)
    tasks = np.repeat(NAMES, 200)
    labels = rng.random(tasks.size) < 0.3
    found = {}
    for method, shift in (("individual", 1.0), ("union & all", 0.5), ("multi-task", 2.0)):
        scores = rng.normal(size=tasks.size) + shift * labels
        found[method] = evaluate(
            labels, scores, tasks, auprc="auprc_genome", counts=np.ones(600), n_bootstrap=20
        )
        for name, facts in expected_sites(labels, 1 / (1 + np.exp(-scores)), tasks).items():
            found[method]["tasks"][name] |= facts
    return found


def _page(methods, shown=""):
    values = {**results(methods, shown), "over": "all", "files": []}
    return fill("report/accuracy.html", metrics=values)


def test_tables_mark_what_leads_by_more_than_intervals_and_escape_names(methods):
    page = _page(methods)
    for name in NAMES:
        for metric in ("auroc", "auprc_genome"):
            entries = {m: r["tasks"][name] for m, r in methods.items()}
            best = max(entries.values(), key=lambda entry: entry[metric])
            ties = [
                entry[f"{metric}_interval"][1] >= best[metric]
                or entry[metric] >= best[f"{metric}_interval"][0]
                for entry in entries.values()
            ]
            for entry, is_tied in zip(entries.values(), ties, strict=True):
                low, high = entry[f"{metric}_interval"]
                cell = f"{entry[metric]:.4f} ({low:.4f}-{high:.4f})"
                is_bold = is_tied and not all(ties)
                assert f"<td>{f'<b>{cell}</b>' if is_bold else cell}</td>" in page
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "union &amp; all" in page
    assert "&amp;amp;" not in page


def test_nothing_is_bold_among_ties_or_if_unknown(methods):
    same = methods["union & all"]
    assert "<b>" not in _page({"one": same, "two": same})
    result = evaluate(
        [1, 0, 1, 1],
        [1.0, 0.0, 1.0, 2.0],
        ["a", "a", "b", "b"],
        auprc="auprc_genome",
        n_bootstrap=0,
    )
    page = _page({"multi-task": result})
    assert page.count('<th scope="row">b</th><td>n/a</td>') == 2
    assert "<b>" not in page
    assert "resamples" not in page


def test_dots_and_whiskers_are_the_results(methods):
    axes = draw_dots({"title": metric_cells(methods, "auprc_genome")}).axes[0]
    dots = [line.get_xdata() for line in axes.lines if line.get_label() in methods]
    for shown, whiskers, result in zip(dots, axes.collections, methods.values(), strict=True):
        tasks = [result["tasks"][name] for name in NAMES]
        *own, mean = shown
        assert own == [task["auprc_genome"] for task in tasks]
        assert mean == pytest.approx(result["mean"]["auprc_genome"])
        *lines, of_mean = [segment[:, 0].tolist() for segment in whiskers.get_segments()]
        intervals = np.array([task["auprc_genome_interval"] for task in tasks])
        assert lines == intervals.tolist()
        # errors of a mean of three: the root of the sum of squares, divided by 3
        below, above = np.linalg.norm(intervals - np.array(own)[:, None], axis=0) / 3
        np.testing.assert_allclose(of_mean, [mean - below, mean + above])
    low, high = axes.get_xlim()
    assert 0.2 < low < min(map(min, dots)) < max(map(max, dots)) < high


def test_every_length_is_in_a_bar():
    lengths = [1, 50, 50, 80, 2_000]
    figure = draw_lengths(lengths)
    (axes,) = figure.axes
    assert sum(bar.get_height() for bar in axes.patches) == len(lengths)
    assert axes.get_title(loc="left") == "Median 50 bases"
    assert draw_lengths([60, 60]).axes[0].patches
