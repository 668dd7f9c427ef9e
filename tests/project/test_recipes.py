"""Commands of other programs in the how-to pages run, where these programs are installed."""

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqmtl.io.annotation import read_annotation

ROOT = Path(__file__).resolve().parents[2]
HOWTO = ROOT / "docs" / "howto"
DATA = ROOT / "examples" / "pipelines" / "galaxy" / "test-data"
BLOCK = re.compile(r"^```(?:text)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOWHERE = {"braker.pl", "galba.pl"}  # neither in Debian nor in PyPI
OURS = {"cat", "sed", "awk", "seqmtl"}
MADE = {
    "gene_finders": ["rna.paf", "cdna.paf", "proteins.gff", "genes.gff", "introns.hints"],
    "viewers": [
        "introns.html",
        "variants.html",
        "lost_donors.tsv",
        "lost_acceptors.vcf.gz",
        "browser/config.json",
    ],
}
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _commands(page):
    """The commands of a page that are for the shell, each with the program that it needs."""
    for block in BLOCK.findall((HOWTO / f"{page}.md").read_text(encoding="utf-8")):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            programs = {words[0], *(words[n + 1] for n, word in enumerate(words) if word == "|")}
            yield line, sorted(programs - OURS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the pages speak of, small: a genome, RNA and proteins, variants."""
    folder = tmp_path_factory.mktemp("recipes")
    genome = folder / "genome.fa"
    genome.write_bytes(gzip.decompress((DATA / "donors" / "velia_alba.fa.gz").read_bytes()))
    shutil.copy(DATA / "splice.seqmtl", folder)
    shutil.copy(DATA / "variants.vcf", folder / "in.vcf")
    shutil.copy(ROOT / "examples" / "augustus" / "extrinsic.S.cfg", folder)
    (folder / "browser").mkdir()
    (folder / "browser" / "config.json").write_text("{}")
    letters = {
        record.split()[0]: "".join(record.split("\n")[1:])
        for record in genome.read_text().split(">")[1:]
    }
    records = [
        f">{t.name}\n{''.join(letters[t.contig][a:b] for a, b in t.exons)}\n"
        for t in read_annotation(DATA / "velia_alba.gff3").transcripts
        if not t.is_reverse
    ]
    for file in ("rna.fa", "cdna.fa"):
        (folder / file).write_text("".join(records[:5]))
    (folder / "proteins.fa").write_text(f">p\n{'MKLVAGTWERSD' * 6}\n")
    return folder


def _version(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", done.stdout + done.stderr).groups()))


def _is_there(program, line):
    if shutil.which(program, path=PATH) is None:
        return False
    needed = {"minimap2": (2, 29), "miniprot": (0, 16)}.get(program)
    return needed is None or "--spsc" not in line or _version(program) >= needed


@pytest.mark.parametrize("page", MADE)
def test_commands_of_the_page_run(page, folder):
    skipped, unmade = set(), set()
    for line, programs in _commands(page):
        missing = {program for program in programs if not _is_there(program, line)}
        missing |= unmade & set(line.split())  # made by a line that was skipped
        skipped |= missing
        if missing:
            unmade |= set(line.partition(" > ")[2].split()[:1])
            continue
        line = line.replace("starter:splice", "splice.seqmtl").replace(
            "d_melanogaster", "velia_alba"
        )
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=folder,
            env={**os.environ, "PATH": PATH},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    if skipped - NOWHERE:
        pytest.skip(f"not installed, or too old: {', '.join(sorted(skipped))}")
    assert all((folder / name).stat().st_size for name in MADE[page])
