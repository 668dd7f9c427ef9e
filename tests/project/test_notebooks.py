"""What objects show in notebooks, without a notebook: whole HTML, and texts of one line."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from seqmtl import MultiTaskKernelSVC, MultiTaskSVC, TaskKernel, WeightedDegree, Windows, load_model
from seqmtl.evaluation import evaluate, evaluate_targets

NAMES = ("bee & wasp", "a<b>", "cat")


def _shown(thing):
    """Return what a notebook shows, after checking that every tag is closed."""
    page = thing._repr_html_()
    return ElementTree.fromstring(f"<div>{page}</div>"), page


def _svg_texts(tree):
    return [node.text for node in tree.iter() if node.tag.endswith("text")]


def test_task_kernels():
    kernel = TaskKernel(NAMES, [[2.0, 0.8, -0.4], [0.8, 2.0, 0.0], [-0.4, 0.0, 2.0]], "<me>")
    tree, page = _shown(kernel)
    texts = _svg_texts(tree)
    assert sorted(text for text in texts if text in NAMES) == sorted(NAMES)
    assert [texts.count(value) for value in ("1.00", "0.40", "-0.20", "0.00")] == [3, 2, 2, 2]
    assert "from &lt;me&gt;" in page
    squares = [node for node in tree.iter() if node.tag.endswith("rect")]
    assert len(squares) == 9
    # the order of the rows is that of a tree: the most alike are neighbours
    rows = [text for text in texts if text in NAMES]
    assert abs(rows.index(NAMES[0]) - rows.index(NAMES[1])) == 1


@pytest.mark.parametrize("n", [1, 2, 39, 100])
def test_task_kernels_of_all_sizes(n):
    kernel = TaskKernel.easy([f"organism {t}" for t in range(n)])
    tree, page = _shown(kernel)
    assert f"TaskKernel of {n} task" in page
    (picture,) = (node for node in tree.iter() if node.tag.endswith("svg"))
    _, _, width, height = map(float, picture.get("viewBox").split())
    for node in picture.iter():
        if node.tag.endswith("rect"):
            assert float(node.get("x")) + float(node.get("width")) <= width
            assert float(node.get("y")) + float(node.get("height")) <= height


def test_models():
    rng = np.random.default_rng(0)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (60, 12))]
    windows = Windows.from_strings(strings, rng.integers(0, 2, 60), np.repeat(NAMES, 20).tolist())
    svc = MultiTaskSVC(features=WeightedDegree(2), task_kernel=TaskKernel.union(NAMES)).fit(windows)
    assert repr(svc.model_).startswith("MultiTaskModel of a<b>, bee & wasp, cat: 240 features")
    tree, page = _shown(svc.model_)
    assert set(NAMES) <= set(_svg_texts(tree))
    assert "duality gap" in page  # the details
    table = MultiTaskKernelSVC("rbf").fit(rng.random((60, 3)), rng.integers(0, 2, 60))
    for own in (load_model("starter:splice"), table.model_):
        tree, page = _shown(own)
        assert "\n" not in repr(own)
        assert len(repr(own)) < 200


def test_evaluations():
    labels, scores = [1, 0, 1, 0, 1, 0], [3.0, 1.0, 2.0, 0.5, 0.1, 0.2]
    found = evaluate(labels, scores, ["a<b>"] * 4 + ["cat"] * 2, n_bootstrap=10)
    assert repr(found) == "Evaluation of 2 tasks: mean auroc 0.5000, auprc 0.7500"
    tree, page = _shown(found)
    assert "a&lt;b&gt;" in page
    assert {"a<b>", "cat", "mean", "auprc", "0.7500"} <= set(_svg_texts(tree))
    cells = ["".join(cell.itertext()) for cell in tree.iter("td")]
    assert cells[1].startswith("1.0000 (1.0000-1.0000)")
    assert json.loads(json.dumps(found)) == found == dict(found)
    numbers = evaluate_targets([1.0, 2.0], [1.5, 2.0], ["x", "x"])
    assert repr(numbers) == "Evaluation of 1 task: mean r2 0.5000, absolute_error 0.2500"
    assert "<svg" in _shown(numbers)[1]
    alone = evaluate([1, 1], [1.0, 2.0], ["a", "a"])  # one class: nothing to draw
    assert "NA" in _shown(alone)[1]
