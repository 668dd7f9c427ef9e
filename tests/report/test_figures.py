"""Results of several models: table, bars, convergence."""

import numpy as np
import pytest

from seqmtl.compare.figure import draw_bars
from seqmtl.evaluation import add_expected, evaluate
from seqmtl.report._html import Markup, element, join, text
from seqmtl.report.figures import draw_convergence
from seqmtl.report.sections import _cells, results

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
        add_expected(found[method], labels, 1 / (1 + np.exp(-scores)), tasks)
    return found


def test_tables_mark_the_best_and_escape_names(methods):
    page = results("all", methods)
    for name in NAMES:
        for metric in ("auroc", "auprc_genome"):
            entries = {m: r["tasks"][name] for m, r in methods.items()}
            best = max(entries, key=lambda method: entries[method][metric])
            for method, entry in entries.items():
                low, high = entry[f"{metric}_interval"]
                cell = f"{entry[metric]:.4f} ({low:.4f}-{high:.4f})"
                assert f"<td>{f'<b>{cell}</b>' if method == best else cell}</td>" in page
    assert page.count("<b>") == 2 * (len(NAMES) + 1)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "union &amp; all" in page
    assert "&amp;amp;" not in page


def test_ties_are_all_bold_and_what_is_unknown_is_told(methods):
    same = methods["union & all"]
    assert results("all", {"one": same, "two": same}).count("<b>") == 2 * 2 * (len(NAMES) + 1)
    result = evaluate(
        [1, 0, 1, 1], [1.0, 0.0, 1.0, 2.0], ["a", "a", "b", "b"], auprc="auprc_genome",
        n_bootstrap=0,
    )  # fmt: skip
    page = results("all", {"multi-task": result})
    assert page.count('<th scope="row">b</th><td>n/a</td>') == 2
    assert "<b>" not in page
    assert "bootstrap" not in page


def test_bars_and_whiskers_are_the_results(methods):
    axes = draw_bars({"title": _cells(methods, "auprc_genome")}, [0.0]).axes[0]
    tasks = [r["tasks"][name] for r in methods.values() for name in NAMES]
    bars = [bar.get_width() for i, bar in enumerate(axes.patches) if i % 4 < 3]
    assert bars == [task["auprc_genome"] for task in tasks]
    means = [bar.get_width() for bar in axes.patches[3::4]]
    assert means == [r["mean"]["auprc_genome"] for r in methods.values()]
    lines = [segment[:, 0].tolist() for c in axes.collections for segment in c.get_segments()]
    assert lines == [task["auprc_genome_interval"] for task in tasks]


def test_convergence_leaves_out_gaps_that_have_no_logarithm():
    history = [{"work": 1, "gap": 1.0}, {"work": 2, "gap": 0.1}, {"work": 3, "gap": 0.0}]
    axes = draw_convergence({"run": history}, None).axes[0]
    assert axes.get_yscale() == "log"
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [1, 2]
    assert line.get_ydata().tolist() == [1.0, 0.1]
    _, tolerance = draw_convergence({"run": history}, 0.01).axes[0].lines
    assert list(tolerance.get_ydata()) == [0.01, 0.01]


def test_html_pieces():
    assert text("<&>\"'") == "&lt;&amp;&gt;&quot;&#x27;"
    assert text(Markup("<br>")) == "<br>"
    assert join(["<", Markup("<br>")], "") == "&lt;<br>"
    assert element("a", "x>", href='"#', class_="c") == '<a href="&quot;#" class="c">x&gt;</a>'
