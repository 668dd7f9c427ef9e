"""Windows and small trained models that several tests share."""

import json

import numpy as np

from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.io.dataset import HEADER, KIND
from seqmtl.sequences import Windows


def motif_windows(n, names, length=12, at=4, seed=0):
    """Windows of organisms in turn; true ones have most letters of AGCC at a place."""
    rng = np.random.default_rng(seed)
    letters = rng.integers(0, 4, (n, length)).astype(np.uint8)
    labels = np.where(rng.random(n) < 0.4, 1, -1)
    hit = (labels > 0)[:, None] & (rng.random((n, 4)) < 0.6)
    letters[:, at : at + 4] = np.where(hit, [0, 2, 1, 1], letters[:, at : at + 4])
    return Windows(
        letters.ravel(),
        np.arange(n) * length,
        length,
        labels=labels,
        task_ids=np.arange(n) % len(names),
        task_names=names,
    )


def write_dataset_head(folder, site, organisms, window=30):
    """Write a dataset without rows, of organisms and the numbers of true sites of their splits."""
    facts = {
        name: {
            "sites": 0,
            "decoys": 0,
            "excluded": {},
            "splits": {split: {"sites": n, "decoys": 0} for split, n in splits.items()},
        }
        for name, splits in organisms.items()
    }
    genome = {"path": "x.fa", "bytes": 1, "n_bases": 1, "crc32": 0}
    summary = {
        "kind": KIND,
        "schema_version": 3,
        "signal": site.signal,
        "window": window,
        "shift": 0,
        "site": vars(site),
        "organisms": facts,
        "genomes": dict.fromkeys(facts, genome),
        "leakage": {},
        "excluded": {},
    }
    (folder / "windows.tsv").write_text(f"{HEADER}\n")
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def rewritten(path, to, without=(), **arrays):
    """Write a file again with arrays replaced, and without some keys; its checksum is right."""
    description, found = read_arrays(path)
    found = {name: np.array(array) for name, array in found.items()}
    kept = {key: value for key, value in description.items() if key not in without}
    write_arrays(to, kept, found | arrays)
    return to


def distance_bound(model, windows, norm=None, diagonal=(1.0, 1.0)):
    """Return how far decision values may be from those of the optimum, by the duality gap.

    By strong convexity of the primal, (q - 1) / 2 ||W - W*||^2 is at most the absolute gap. For
    fixed K, q = 2, and the example x of task t has the length K_tt k(x, x) to the power of 1/2.
    For kernels whose weights are learnt, of which each view has those with these K_tt, the norms
    are those of blocks, with the exponents q = 2 p / (p + 1) for W and 2 p / (p - 1) for x.
    """
    rows, summary = model.features.bind(windows), model.training
    gap = summary["duality_gap"] * summary["primal"]
    of_views = np.array([view.rows.squared_norms() + 1.0 for view in rows.views])
    if norm is None:
        places = [model.kernel.names.index(name) for name in windows.tasks]
        K_tt = np.diagonal(model.kernel.matrix)[places]
        return np.sqrt(2.0 * gap * K_tt * of_views.sum(axis=0))
    modulus, exponent = (norm - 1.0) / (norm + 1.0), norm / (norm - 1.0)
    of_kernels = np.multiply.outer(diagonal, of_views)
    length = (of_kernels**exponent).sum(axis=(0, 1)) ** (0.5 / exponent)
    return np.sqrt(2.0 * gap / modulus) * length


def assert_same_optimum(windows, resumed, whole, tol, **kernels):
    """Check that two models have the gap they promise, and are as close as that implies."""
    for model in (resumed, whole):
        assert model.training["converged"]
        assert model.training["duality_gap"] <= tol
    primal = [model.training["primal"] for model in (resumed, whole)]
    assert abs(primal[0] - primal[1]) <= 1.01 * tol * max(primal)
    scores = [model.decision_function(windows) for model in (resumed, whole)]
    bounds = [distance_bound(model, windows, **kernels) for model in (resumed, whole)]
    assert (np.abs(scores[0] - scores[1]) <= sum(bounds) + 1e-5).all()
