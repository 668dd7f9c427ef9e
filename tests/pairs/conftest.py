"""Simulated organisms with models of donors, of acceptors, and a paired one."""

import json

import numpy as np
import pytest

from seqmtl.cli.main import main
from seqmtl.files.model_file import read_arrays, write_arrays


def _run(*arguments):
    return main([*map(str, arguments), "-q"])


@pytest.fixture(scope="session")
def case(tmp_path_factory):
    """Two organisms with four chromosomes; models of both ends, and a paired one."""
    folder = tmp_path_factory.mktemp("pair")
    _run(
        "simulate", "-o", folder / "sim", "--tree", "(a:0.1,b:0.1);", "--chromosomes", 4,
        "--chromosome-length", 40_000, "--no-windows",
    )  # fmt: skip
    text = (folder / "sim" / "dataset.toml").read_text()
    for name in "ab":
        text += f'\n[organisms.{name}.split]\nvalid = ["chr2"]\ntest = ["chr1"]\n'
    (folder / "sim" / "dataset.toml").write_text("window = 61\n" + text)
    for signal in ("donor", "acceptor"):
        data, model = folder / f"{signal}s", folder / signal
        assert _run("dataset", folder / "sim/dataset.toml", "--signal", signal, "-o", data) == 0
        assert _run("train", data, "--selection", "none", "--features", "wd:5", "-C", 10,
                    "--window", 41, "-o", model) == 0  # fmt: skip
        assert _run("calibrate", model, data, "-o", model) == 0
    only_a = text[: text.index('[organisms."b"]')]
    (folder / "sim" / "a.toml").write_text("window = 61\n" + only_a)
    assert _run("dataset", folder / "sim/a.toml", "-o", folder / "acceptors_of_a") == 0
    header, arrays = read_arrays(folder / "acceptor")
    renamed = json.loads(json.dumps(header).replace('"b"', '"z"'))
    write_arrays(folder / "renamed", renamed, arrays)
    inputs = [folder / name for name in ("donor", "acceptor", "donors", "acceptors")]
    assert _run("pair", *inputs, "-o", folder / "splice", "--json", folder / "splice.json") == 0
    return folder


@pytest.fixture(scope="session")
def new(tmp_path_factory):
    """A paired model of a and b, and genomes: of c, their relative, and of no organism."""
    folder = tmp_path_factory.mktemp("new")
    _run(
        "simulate", "-o", folder / "sim", "--tree", "((a:0.1,b:0.1):0.05,c:0.15);",
        "--chromosomes", 4, "--chromosome-length", 60_000, "--no-windows",
    )  # fmt: skip
    text = "window = 61\n"
    for name in "ab":
        text += f'[organisms.{name}]\ngenome = "genomes/{name}.fa"\n'
        text += f'annotation = "annotation/{name}.gff3"\n'
        text += 'split = { valid = ["chr2"], test = ["chr1"] }\n'
    (folder / "sim" / "ab.toml").write_text(text)
    inputs = [folder / name for name in ("donor", "acceptor", "donors", "acceptors")]
    for signal, model, data in (("donor", *inputs[::2]), ("acceptor", *inputs[1::2])):
        assert _run("dataset", folder / "sim/ab.toml", "--signal", signal, "-o", data) == 0
        assert _run("train", data, "--selection", "none", "--features", "wd:5", "-C", 10,
                    "--window", 41, "-o", model) == 0  # fmt: skip
        assert _run("calibrate", model, data, "-o", model) == 0
    assert _run("pair", *inputs, "-o", folder / "pair.seqmtl") == 0
    letters = np.random.default_rng(1).choice(list("ACGT"), 300_000)
    (folder / "random.fa").write_text(f">r\n{''.join(letters)}\n")
    return folder
