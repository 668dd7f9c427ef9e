"""What objects show in notebooks, without a notebook: whole HTML, and texts of one line."""

import base64
import sys
from xml.etree import ElementTree

import numpy as np

from seqmtl import MultiTaskSVC, TaskKernel, WeightedDegree, Windows, load

NAMES = ("bee & wasp", "a<b>", "cat")


def _shown(thing):
    """Return what a notebook shows, after checking that every tag is closed."""
    page = thing._repr_html_()
    return ElementTree.fromstring(f"<div>{page}</div>"), page


def test_task_kernels(monkeypatch):
    kernel = TaskKernel(NAMES, [[2.0, 0.8, -0.4], [0.8, 2.0, 0.0], [-0.4, 0.0, 2.0]], "<me>")
    tree, page = _shown(kernel)
    assert "TaskKernel of 3 tasks from &lt;me&gt;" in page
    (image,) = tree.iter("img")
    assert image.get("alt").split() == str(kernel).split()
    drawn = ElementTree.fromstring(base64.b64decode(image.get("src").partition(",")[2]))
    assert drawn.tag.endswith("svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (text,) = _shown(kernel)[0].iter("pre")
    assert text.text == str(kernel).partition("\n")[2]


def test_models():
    rng = np.random.default_rng(0)
    strings = ["".join(row) for row in rng.choice(list("ACGT"), (60, 12))]
    windows = Windows.from_strings(strings, rng.integers(0, 2, 60), np.repeat(NAMES, 20).tolist())
    svc = MultiTaskSVC(features=WeightedDegree(2), task_kernel=TaskKernel.union(NAMES)).fit(windows)
    assert repr(svc.model_).startswith("MultiTaskModel of a<b>, bee & wasp, cat: 240 features")
    tree, page = _shown(svc.model_)
    (image,) = tree.iter("img")
    assert all(name in image.get("alt") for name in NAMES)
    assert "duality gap" in page  # the details
    own = load("starter:splice")
    tree, page = _shown(own)
    assert "\n" not in repr(own)
    assert len(repr(own)) < 200
