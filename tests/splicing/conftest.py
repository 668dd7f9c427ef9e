"""Simulated organisms with models of donors, of acceptors, and a paired one."""

import itertools

import numpy as np
import pytest

from tests.invocation import run
from tests.world import TRAINING


@pytest.fixture(scope="session")
def case(world):
    """The folder of the world, in which `splice` is a paired model of donors and acceptors."""
    return world.paired.parent


def _translatable(genome, annotation):
    """Write codons into the exons of a genome, but for the bases next to an intron.

    Their usage is far more uneven than that of the simulator's own codons, so that a genome of
    these tests' size is enough to learn it from.
    """
    rng = np.random.default_rng(0)
    codons = ["".join(codon) for codon in itertools.product("ACGT", repeat=3)]
    share = np.random.default_rng(7).exponential(size=64) ** 2
    share[[codons.index(stop) for stop in ("TAA", "TAG", "TGA")]] = 0
    texts = dict(part.split("\n", 1) for part in genome.read_text()[1:].split("\n>"))
    texts = {name: list(text.replace("\n", "")) for name, text in texts.items()}
    rows = [line.split("\t") for line in annotation.read_text().splitlines() if line[0] != "#"]
    exons = [row for row in rows if row[2] == "exon"]
    for _, own in itertools.groupby(exons, key=lambda row: row[8].partition("Parent=")[2]):
        own = list(own)  # in the direction of the gene
        places = [
            (at, first + 3 <= at < last - 3)
            for first, last in ((int(row[3]) - 1, int(row[4])) for row in own)
            for at in (range(first, last) if own[0][6] == "+" else range(last - 1, first - 1, -1))
        ]
        letters = "".join(rng.choice(codons, len(places) // 3 + 1, p=share / share.sum()))
        if own[0][6] == "-":
            letters = letters.translate(str.maketrans("ACGT", "TGCA"))
        for (at, is_inside), letter in zip(places, letters, strict=False):
            if is_inside:
                texts[own[0][0]][at] = letter
    genome.write_text("".join(f">{name}\n{''.join(text)}\n" for name, text in texts.items()))


@pytest.fixture(scope="session")
def new(tmp_path_factory):
    """A paired model of a and b, and genomes: of c, their relative, and of no organism."""
    folder = tmp_path_factory.mktemp("new")
    options = "--chromosomes 4 --chromosome-length 60000 --no-windows"
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
