"""Hashed models against exact ones: without collisions, every command writes the same."""

import itertools
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl import MultiTaskModel, PositionalKmers
from seqmtl.core.weights import TaskWeights
from tests.invocation import run
from tests.oracles import wd

_NUMBER = re.compile(r"-?\b\d+\.\d+(?:e[+-]?\d+)?")


def _twin(model):
    """Return a model of degree 2 with its weights at hashed indices that do not collide."""
    kmers = [
        (place, k, "".join(letters))
        for k in (1, 2)
        for place in range(model.length)
        for letters in itertools.product("ACGT", repeat=k)
    ]  # in the order of exact indices
    bits, index = 15, np.zeros(len(kmers), dtype=np.int64)
    while np.unique(index).size < len(kmers):
        bits += 1
        index = np.array([wd.hash_index(*kmer, bits) for kmer in kmers])
    W = np.zeros((1 << bits, len(model.tasks)), dtype=model.W.dtype)
    W[index] = model.W
    features = PositionalKmers("wd:2", model.features.anchor, bits)
    weights = TaskWeights.of(W, features.view_columns(model.length))
    return replace(model, features=features, W=weights)


@pytest.fixture(scope="module")
def twins(world, tmp_path_factory):
    """Folders of a model of donors, exact, and of its hashed twin."""
    folder = tmp_path_factory.mktemp("twins")
    for kind in ("exact", "hashed"):
        (folder / kind).mkdir()
    path = folder / "exact" / "donor"
    data = world.dataset("donor")
    run(f"train {data} --features wd:2 --selection none --window 41 -o {path}")
    model = MultiTaskModel.load(path)
    model.training["settings"]["dtype"] = "float64"
    exact = replace(model, W=model.W.astype("float64"))
    exact.save(path)
    _twin(exact).save(folder / "hashed" / "donor")
    return folder


def _variants(genome):
    """Return a VCF file that changes every 50th base of the first contig."""
    name, text = genome.read_text()[1:].split("\n>")[0].split("\n", 1)
    letters = text.replace("\n", "").upper()
    other = letters.translate(str.maketrans("ACGT", "CGTA"))
    rows = [
        f"{name}\t{at + 1}\t.\t{letters[at]}\t{other[at]}\t.\t.\t." for at in range(100, 6000, 50)
    ]
    columns = "#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\t")
    return "\n".join(["##fileformat=VCFv4.2", f"##contig=<ID={name}>", columns, *rows]) + "\n"


def test_every_command_writes_the_same(world, twins, tmp_path, monkeypatch):
    genome, vcf = world.simulation / "genomes/a.fa", tmp_path / "some.vcf"
    vcf.write_text(_variants(genome))
    donors = world.dataset("donor")
    commands = f"""
        predict donor {donors} -o scores.tsv
        evaluate donor {donors} --bootstrap 0 --json metrics.json
        scan donor {genome} --organism a -o sites.gff3
        variants donor --vcf {vcf} --fasta {genome} --organism a -o gains.vcf
        explain donor {donors} --max-order 3 --n-windows 3 -o explained
    """
    found = []
    for kind in ("exact", "hashed"):
        monkeypatch.chdir(twins / kind)
        for command in commands.strip().split("\n"):
            run(command)
        paths = [os.path.join(folder, name) for folder, _, own in os.walk(".") for name in own]
        texts = {}
        for path in sorted(paths):
            if path.endswith((".tsv", ".vcf", ".gff3", "metrics.json")):
                with open(path, encoding="utf-8") as stream:
                    texts[path] = stream.read()
        found.append(texts)
    assert len(found[0]) >= 6
    assert list(found[0]) == list(found[1])
    for path, exact in found[0].items():
        both = [_NUMBER.split(text) for text in (exact, found[1][path])]
        assert both[0] == both[1], path
        numbers = [np.array(_NUMBER.findall(text), float) for text in (exact, found[1][path])]
        assert_allclose(*numbers, rtol=1e-4, atol=2e-5, err_msg=path)
