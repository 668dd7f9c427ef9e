"""Commands of other programs in the how-to pages run, where these programs are installed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import seqmtl
from seqmtl.io.annotation import read_annotation
from tests.oracles.annotation import read_fasta

ROOT = Path(__file__).resolve().parents[2]
HOWTO = ROOT / "docs" / "howto"
BLOCK = re.compile(r"^```(?:text)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_PACKAGED = {"braker.pl", "galba.pl"}  # neither in Debian nor in PyPI
ALWAYS_THERE = {"cat", "sed", "awk", "seqmtl"}
OUTPUTS = {
    "gene_finders": "rna.paf cdna.paf proteins.gff genes.gff introns.hints",
    "viewers": (
        "introns.html variants.html lost_donors.tsv lost_acceptors.vcf.gz browser/config.json"
    ),
}
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def _commands(page):
    """Return the shell commands of a page, each with the programs that it needs."""
    for block in BLOCK.findall((HOWTO / f"{page}.md").read_text(encoding="utf-8")):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            programs = {words[0], *(words[n + 1] for n, word in enumerate(words) if word == "|")}
            yield line, sorted(programs - ALWAYS_THERE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the pages speak of, small: a genome, RNA and proteins, variants."""
    folder = tmp_path_factory.mktemp("programs")
    simulated = folder / "simulated"
    size = {"windows": 100, "chromosome_length": 10_000}
    seqmtl.simulate(tree="(a:0.1,b:0.1);", output=simulated, **size)
    contigs = read_fasta(shutil.copy(simulated / "genomes" / "a.fa", folder / "genome.fa"))
    transcripts = read_annotation(simulated / "annotation" / "a.gff3").transcripts
    forward = [transcript for transcript in transcripts if not transcript.is_reverse]
    records = [
        f">{t.name}\n{''.join(contigs[t.contig][a:b] for a, b in t.exons)}\n" for t in forward[:5]
    ]
    for file in ("rna.fa", "cdna.fa"):
        (folder / file).write_text("".join(records))
    (folder / "proteins.fa").write_text(f">p\n{'MKLVAGTWERSD' * 6}\n")
    lengths = "".join(f"##contig=<ID={name},length=10000>\n" for name in contigs)
    donors = sorted({(t.contig, intron[0]) for t in forward for intron in t.introns})
    variants = "".join(
        f"{contig}\t{start + 1}\t.\t{contigs[contig][start]}\tC\t.\t.\t.\n"
        for contig, start in donors
    )
    header = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    (folder / "in.vcf").write_text(f"##fileformat=VCFv4.2\n{lengths}{header}{variants}")
    shutil.copy(ROOT / "examples" / "augustus" / "extrinsic.S.cfg", folder)
    (folder / "browser").mkdir()
    (folder / "browser" / "config.json").write_text("{}")
    return folder


def _version(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", done.stdout + done.stderr).groups()))


def _is_installed(program, line):
    if shutil.which(program, path=PATH) is None:
        return False
    needed = {"minimap2": (2, 29), "miniprot": (0, 16)}.get(program)
    return needed is None or "--spsc" not in line or _version(program) >= needed


@pytest.mark.parametrize("page", OUTPUTS)
def test_commands_of_the_page_run(page, folder):
    skipped, absent = set(), set()
    for line, programs in _commands(page):
        missing = {program for program in programs if not _is_installed(program, line)}
        missing |= absent & set(line.split())  # outputs of commands that were skipped
        skipped |= missing
        if missing:
            absent |= set(line.partition(" > ")[2].split()[:1])
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=folder,
            env={**os.environ, "PATH": PATH},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    if skipped - NOT_PACKAGED:
        pytest.skip(f"not installed, or too old: {', '.join(sorted(skipped))}")
    assert all((folder / name).stat().st_size for name in OUTPUTS[page].split())
