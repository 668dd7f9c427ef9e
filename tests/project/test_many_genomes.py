"""The how-to on many genomes: its scripts write what a loop over the command writes."""

import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqmtl

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "many-genomes.md"
N_GENOMES = 4


@pytest.fixture(scope="module")
def genomes(tmp_path_factory):
    """A folder with small genomes, and what scans of them one by one write."""
    folder = tmp_path_factory.mktemp("many")
    (folder / "genomes").mkdir()
    (folder / "expected").mkdir()
    rng = np.random.default_rng(0)
    for i in range(N_GENOMES):
        path = folder / "genomes" / f"organism{i}.fa"
        path.write_text(f">chr1\n{''.join(rng.choice(list('ACGT'), 5_000))}\n")
        output = folder / "expected" / f"organism{i}.bed"
        seqmtl.scan("starter:donor", path, like="Drosophila", top=200, output=output)
    return folder


def _block(language, word):
    """Return the one block of code of the page that has a word."""
    blocks = re.findall(
        rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    (block,) = (block for block in blocks if word in block)
    return block


def _check(genomes, scans):
    names = [f"organism{i}.bed" for i in range(N_GENOMES)]
    assert sorted(path.name for path in scans.iterdir()) == sorted(names)
    for name in names:
        assert (scans / name).read_bytes() == (genomes / "expected" / name).read_bytes()
    shutil.rmtree(scans)


def test_joblib_writes_what_the_command_writes(genomes):
    script = genomes / "script.py"
    script.write_text(_block("python", "from joblib import"))
    subprocess.run([sys.executable, script], cwd=genomes, check=True)
    _check(genomes, genomes / "scans")


def test_snakemake_writes_what_the_command_writes(genomes):
    pytest.importorskip("snakemake")
    script = _block("text", "snakemake").replace("examples/", f"{PAGE.parents[2]}/examples/")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-ec", script], cwd=genomes, check=True, env={**os.environ, "PATH": programs}
    )
    _check(genomes, genomes / "results" / "genomes")


def test_commands_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(seqmtl.scan)) is seqmtl.scan
    assert pickle.loads(pickle.dumps(seqmtl.train)) is seqmtl.train
