"""Results of several models: table, bars, convergence."""

import numpy as np
import pytest

from seqmtl.evaluation import evaluate
from seqmtl.report.figures import draw_bars, draw_convergence, draw_weights
from seqmtl.report.signal_sections import results_table

NAMES = ("<script>alert(1)</script>", "a & b", "plain")


@pytest.fixture(scope="module")
def methods():
    rng = np.random.default_rng(0)
    tasks = np.repeat(NAMES, 200)
    labels = rng.random(tasks.size) < 0.3
    scores = {
        method: rng.normal(size=tasks.size) + shift * labels
        for method, shift in (("individual", 1.0), ("union & all", 0.5), ("multi-task", 2.0))
    }
    return {
        m: evaluate(labels, s, tasks, auprc="auprc_genome", n_bootstrap=20)
        for m, s in scores.items()
    }


def test_results_table_marks_the_best_and_escapes_names(methods):
    table = results_table(methods, list(NAMES))
    for name in NAMES:
        for metric in ("auroc", "auprc_genome"):
            values = {m: r["tasks"][name][metric] for m, r in methods.items()}
            best = max(values, key=values.get)
            for method, value in values.items():
                cell = f"<b>{value:.4f}</b>" if method == best else f"<td>{value:.4f}<"
                assert cell in table
    low, high = methods["multi-task"]["tasks"]["plain"]["auprc_genome_interval"]
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
    result = evaluate(
        [1, 0, 1, 1], [1.0, 0.0, 1.0, 2.0], ["a", "a", "b", "b"], auprc="auprc_genome"
    )
    table = results_table({"multi-task": result}, ["a", "b"])
    assert '<th scope="row">b</th><td>n/a</td><td>n/a</td>' in table
    assert "<b>" not in table


def test_bars_and_whiskers_are_the_results(methods):
    axes = draw_bars(methods, NAMES).axes[0]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [r["tasks"][name]["auprc_genome"] for r in methods.values() for name in NAMES]
    whiskers = [segment[:, 1].tolist() for c in axes.collections for segment in c.get_segments()]
    assert whiskers == [
        r["tasks"][name]["auprc_genome_interval"] for r in methods.values() for name in NAMES
    ]


def test_bars_of_many_organisms_are_the_extremes():
    values = np.random.default_rng(0).random(60)
    tasks = {f"t{i}": {"auprc_genome": float(v)} for i, v in enumerate(values)}
    axes = draw_bars({"one": {"tasks": tasks}}, list(tasks)).axes[0]
    ends = np.sort(np.argsort(values)[[*range(14), *range(-14, 0)]])
    assert [bar.get_height() for bar in axes.patches] == values[ends].tolist()
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"t{i}" for i in ends]


def test_weights_of_many_kernels_are_the_extremes():
    weights = np.random.default_rng(0).random(60)
    learnt = [
        {"view": "v", "label": f"k{m}", "tasks": ["a"], "weight": w} for m, w in enumerate(weights)
    ]
    axes = draw_weights(learnt).axes[0]
    ends = np.sort(np.argsort(weights)[[*range(14), *range(-14, 0)]])
    assert [bar.get_width() for bar in axes.patches] == weights[ends].tolist()


def test_convergence_leaves_out_gaps_that_have_no_logarithm():
    history = [{"work": 1, "gap": 1.0}, {"work": 2, "gap": 0.1}, {"work": 3, "gap": 0.0}]
    axes = draw_convergence({"run": history}, None).axes[0]
    assert axes.get_yscale() == "log"
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [1, 2]
    assert line.get_ydata().tolist() == [1.0, 0.1]
    _, tolerance = draw_convergence({"run": history}, 0.01).axes[0].lines
    assert list(tolerance.get_ydata()) == [0.01, 0.01]
