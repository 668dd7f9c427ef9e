"""Simulated organisms with models of donors, of acceptors, and a paired one."""

import itertools
import json

import numpy as np
import pytest

from seqmtl.exceptions import ModelFileError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.io.annotation import read_annotation
from seqmtl.loading import load
from tests.invocation import run
from tests.oracles.annotation import read_fasta
from tests.world import TRAINING


@pytest.fixture(scope="session")
def case(world):
    """The folder of the world, in which `splice` is a paired model of donors and acceptors."""
    return world.paired.parent


@pytest.fixture
def refused(tmp_path):
    """Return a function that loads a model file with a change, which must be refused."""

    def load_changed(path, change, message):
        header, arrays = read_arrays(path)
        header, arrays = json.loads(json.dumps(header)), {k: v.copy() for k, v in arrays.items()}
        change(header, arrays)
        write_arrays(tmp_path / "bad", header, arrays)
        with pytest.raises(ModelFileError, match=message):
            load(tmp_path / "bad")

    return load_changed


def _translatable(genome, annotation):
    """Write codons into the exons of a genome, but for the bases next to an intron.

    Their usage is far more uneven than that of the simulator's own codons, so that a genome of
    these tests' size is enough to learn it from.
    """
    rng = np.random.default_rng(0)
    codons = ["".join(codon) for codon in itertools.product("ACGT", repeat=3)]
    share = np.random.default_rng(7).exponential(size=64) ** 2
    share[[codons.index(stop) for stop in ("TAA", "TAG", "TGA")]] = 0
    texts = {name: [*text] for name, text in read_fasta(genome).items()}
    for gene in read_annotation(annotation).transcripts:
        step = -1 if gene.is_reverse else 1
        places = [
            (at, first + 3 <= at < last - 3)
            for first, last in gene.exons[::step]
            for at in range(first, last)[::step]
        ]
        letters = "".join(rng.choice(codons, len(places) // 3 + 1, p=share / share.sum()))
        if gene.is_reverse:
            letters = letters.translate(str.maketrans("ACGT", "TGCA"))
        for (at, is_inside), letter in zip(places, letters, strict=False):
            if is_inside:
                texts[gene.contig][at] = letter
    genome.write_text("".join(f">{name}\n{''.join(text)}\n" for name, text in texts.items()))


@pytest.fixture(scope="session")
def new(tmp_path_factory):
    """A paired model of a and b, and genomes: of c, their relative, and of no organism."""
    folder = tmp_path_factory.mktemp("new")
    options = "--chromosomes 4 --chromosome-length 60000"
    run(f"simulate -o {folder}/sim --tree '((a:0.1,b:0.1):0.05,c:0.15);' {options}")
    for name in "abc":
        _translatable(folder / f"sim/genomes/{name}.fa", folder / f"sim/annotation/{name}.gff3")
    text = "window = 61\n"
    for name in "ab":
        text += f'[organisms.{name}]\ngenome = "genomes/{name}.fa"\n'
        text += f'annotation = "annotation/{name}.gff3"\n'
        text += 'split = { valid = ["chr2"], test = ["chr1"] }\n'
    (folder / "sim" / "ab.toml").write_text(text)
    for signal in ("donor", "acceptor"):
        data, model = folder / f"{signal}s", folder / signal
        run(f"dataset {folder}/sim/ab.toml --signal {signal} -o {data}")
        run(f"train {data} {TRAINING} -o {model}")
        run(f"calibrate {model} {data} -o {model}")
    inputs = f"{folder}/donor {folder}/acceptor {folder}/donors {folder}/acceptors"
    run(f"pair {inputs} -o {folder}/pair.seqmtl")
    letters = np.random.default_rng(1).choice(list("ACGT"), 300_000)
    (folder / "random.fa").write_text(f">r\n{''.join(letters)}\n")
    return folder
