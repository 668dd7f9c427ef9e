"""Training with ``--dask`` gives the model that it gives without."""

from __future__ import annotations

import numpy as np

from seqmtl import load


def test_workers_elsewhere_train_the_same_model(tmp_path, scheduler, seqmtl, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = ["organism\tlabel\tsequence"]
    for n in range(300):
        label, bases = 1 if n % 3 == 0 else -1, rng.choice(list("ACGT"), 30)
        bases[14:16] = ["A", "G"] if label > 0 or n % 2 else ["G", "T"]
        rows.append(f"{('ape', 'man')[n % 2]}\t{label}\t{''.join(bases)}")
    (tmp_path / "w.tsv").write_text("\n".join(rows) + "\n")
    models = []
    for name, where in {"here": "", "there": f"--dask {scheduler}"}.items():
        (tmp_path / name).mkdir()
        seqmtl(f"train w.tsv --features wd:3 -o {name}/m.seqmtl --memory 2G {where}")
        assert [path.name for path in (tmp_path / name).iterdir()] == ["m.seqmtl"]
        models.append(load(tmp_path / name / "m.seqmtl"))
    here, there = models
    np.testing.assert_array_equal(np.asarray(here.W), np.asarray(there.W))
    assert here.training["selection"] == there.training["selection"]
