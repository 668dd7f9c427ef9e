"""Simulated organisms with models of donors, of acceptors, and a paired one."""

import itertools
import json

import numpy as np
import pytest

from seqmtl.files.model_file import read_arrays, write_arrays
from tests.invocation import run

QUICK = "--selection none --features wd:5 -C 10 --window 41"


def models_of_both_ends(folder, config):
    """Make the datasets and calibrated models of both ends, and return the inputs of pair."""
    for signal in ("donor", "acceptor"):
        data, model = folder / f"{signal}s", folder / signal
        run(f"dataset {config} --signal {signal} -o {data}")
        run(f"train {data} {QUICK} -o {model}")
        run(f"calibrate {model} {data} -o {model}")
    return f"{folder}/donor {folder}/acceptor {folder}/donors {folder}/acceptors"


@pytest.fixture(scope="session")
def case(tmp_path_factory):
    """Two organisms with four chromosomes; models of both ends, and a paired one."""
    folder = tmp_path_factory.mktemp("pair")
    options = "--chromosomes 4 --chromosome-length 40000 --no-windows"
    run(f"simulate -o {folder}/sim --tree '(a:0.1,b:0.1);' {options}")
    text = (folder / "sim" / "dataset.toml").read_text()
    for name in "ab":
        text += f'\n[organisms.{name}.split]\nvalid = ["chr2"]\ntest = ["chr1"]\n'
    (folder / "sim" / "dataset.toml").write_text("window = 61\n" + text)
    inputs = models_of_both_ends(folder, folder / "sim" / "dataset.toml")
    only_a = text[: text.index('[organisms."b"]')]
    (folder / "sim" / "a.toml").write_text("window = 61\n" + only_a)
    run(f"dataset {folder}/sim/a.toml -o {folder}/acceptors_of_a")
    header, arrays = read_arrays(folder / "acceptor")
    renamed = json.loads(json.dumps(header).replace('"b"', '"z"'))
    write_arrays(folder / "renamed", renamed, arrays)
    run(f"pair {inputs} -o {folder}/splice --json {folder}/splice.json")
    return folder


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
    inputs = models_of_both_ends(folder, folder / "sim" / "ab.toml")
    run(f"pair {inputs} -o {folder}/pair.seqmtl")
    letters = np.random.default_rng(1).choice(list("ACGT"), 300_000)
    (folder / "random.fa").write_text(f">r\n{''.join(letters)}\n")
    return folder
