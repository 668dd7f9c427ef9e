"""A small model and genome for tests of ``seqmtl scan`` that need no trained one."""

from __future__ import annotations

import gzip
import json
import os

import numpy as np

from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel
from seqmtl.core.weights import TaskWeights
from seqmtl.linear_model.site import Site
from seqmtl.scanning.writers import formats
from tests.invocation import exit_code
from tests.summaries import training_summary

LENGTH = 21
#: A suffix of every format.
SUFFIXES = [suffixes[0].removeprefix(".") for suffixes in formats.SUFFIXES.values()]


def make_contig(rng, n, share_of_n=0.0):
    """Draw letters, with runs of N."""
    text = rng.choice(list("ACGT"), n)
    while n and share_of_n and rng.random() < 0.8:
        first = int(rng.integers(n))
        text[first : first + int(rng.integers(1, 2 + int(share_of_n * n)))] = "N"
    return "".join(text)


def random_model(features, length, site, seed=0, kernel=None, **values):
    """Return a model of two organisms with random weights."""
    names = ("man", "fly")
    W = np.random.default_rng(seed).normal(size=(features.n_features(length), 2))
    return MultiTaskModel(
        features,
        length,
        names,
        kernel or TaskKernel(names, np.eye(2)),
        TaskWeights.of(W.astype(np.float32), features.view_columns(length)),
        np.array(values.get("bias", [0.1, -0.1])),
        np.array([values.get("calibration", [1.5, -2.0])] * 2),
        site,
        training_summary(names),
    )


def make_model(path, *, letters="GT", signal="donor", seed=0, relatives=()):
    """Write a model of two organisms with random weights and return it."""
    K = np.eye(2 + len(relatives))
    K[1, 2:] = K[2:, 1] = 0.5
    kernel, site = TaskKernel(("man", "fly", *relatives), K), Site(10, 2, letters, signal)
    random_model(PositionalKmers("wd:3"), LENGTH, site, seed, kernel).save(path)
    return MultiTaskModel.load(path)


def make_genome(path, sizes, seed=1):
    """Write contigs with N, lower case and an end of line now and then; return their texts."""
    rng = np.random.default_rng(seed)
    contigs = {}
    for name, n in sizes.items():
        letters = rng.choice(list("ACGT"), n)
        for _ in range(n // 1500):
            first = int(rng.integers(n))
            letters[first : first + int(rng.integers(1, 300))] = "N"
        for _ in range(n // 1000):
            first, size = int(rng.integers(n)), int(rng.integers(1, 400))
            letters[first : first + size] = np.char.lower(letters[first : first + size])
        contigs[name] = "".join(letters)
    path.write_text("".join(f">{name}\n{text}\n" for name, text in contigs.items()))
    return contigs


def text_rows(path):
    """Fields of the lines of a text file without comments."""
    raw = path.read_bytes()
    lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def bed_rows(path):
    """Records of a BED file as (contig, start, strand, score)."""
    return [(r[0], int(r[1]), r[5], float(r[6])) for r in text_rows(path)]


def run_scan(folder, out, *options, genome="genome.fa", model="model.seqmtl", code=0):
    """Run the command on a folder's model and genome, and check its exit code."""
    command = ["scan", os.path.join(folder, model), os.path.join(folder, genome)]
    assert exit_code([*command, "--organism", "man", "-o", str(out), *options]) == code
    return out


def read_json(path):
    """Read a JSON summary's only scan."""
    (scan,) = json.loads(path.read_text())["scans"]
    return scan
