"""The Nextflow modules keep nf-core's rules, and their scripts and stubs make what they promise.

Nextflow itself is not needed: the few forms of Groovy that the modules use are filled in here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PIPELINES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"
MODULES = sorted((PIPELINES / "nextflow" / "modules" / "seqmtl").glob("*/main.nf"))
DATA = PIPELINES / "galaxy" / "test-data"
ALBA = "donors/velia_alba.fa.gz"
FAST = "--features wd:2 -C 1 --selection none"
CONFIG = """window = 61
[organisms.velia_alba]
genome = "velia_alba.fa.gz"
annotation = "velia_alba.gff3"
"""
PATHS = {
    "annotate": {"genome": ALBA, "tree": "tree.nwk", "introns": "", "splice": "splice.seqmtl"},
    "calibrate": {"model": "donor.seqmtl", "dataset": "donors", "genomes": ALBA},
    "dataset": {"config": "", "genomes": ALBA, "annotations": "velia_alba.gff3"},
    "evaluate": {"model": "donor.seqmtl", "datasets": "donors", "genomes": ALBA},
    "pair": {"donor": "donor.seqmtl", "acceptor": "acceptor.seqmtl", "donors": "donors",
             "acceptors": "acceptors", "genomes": ALBA},
    "scan": {"model": "donor.seqmtl", "genome": ALBA},
    "train": {"dataset": "donors", "genomes": ALBA, "tree": "tree.nwk"},
    "variants": {"vcf": "variants.vcf", "model": "donor.seqmtl", "genome": ALBA},
}  # fmt: skip
VALUES = {
    "annotate": {"meta.id": "velia_nigra", "like": "velia_alba", "args": "--model splice.seqmtl"},
    "dataset": {"config": "splice.toml", "args": "--signal donor"},
    "scan": {"organism": "velia_alba", "format": "bed"},
    "train": {"args": FAST},
    "variants": {"organism": "velia_alba"},
}


def _section(text, name):
    """The lines of one block of a process."""
    found = re.search(rf"^    {name}:\n(.*?)(?=^    \w+:\n|^}})", text, re.MULTILINE | re.DOTALL)
    return found[1]


def _filled(text, values):
    """A string of Groovy with its variables filled in."""
    filled = re.sub(
        r"\$\{([\w.]+)\}|\$([a-zA-Z]\w*(?:\.[a-zA-Z]\w*)*)",
        lambda match: values[match[1] or match[2]],
        text,
    )
    return filled.replace("\\\\", "\\").replace('\\"', '"')


def _rendered(block, values):
    """The command of a block; its definitions are of two forms."""
    values = dict(values)
    for name, given, default in re.findall(r"(\w+) = ([\w.]+) \?: (.*)", block):
        values[name] = values.get(name, values.get(given)) or _filled(default.strip("\"'"), values)
    for name, asked, text in re.findall(r"(\w+) = (\w+) \? \"(.*)\" : ''", block):
        values[name] = _filled(text, values) if values[asked] else ""
    code = re.search(r'"""\n(.*?)"""', block, re.DOTALL)[1]
    return _filled(code, values), values


def _run(module, block, folder):
    """Stage the inputs of a module as links, run one of its blocks, and return its variables."""
    command = module.parent.name
    folder.mkdir()
    for place in filter(None, PATHS[command].values()):
        (folder / Path(place).name).symlink_to(DATA / place)
    (folder / "splice.toml").write_text(CONFIG)
    values = {name: Path(place).name for name, place in PATHS[command].items()}
    values |= {"meta.id": "velia_alba", "task.cpus": "1"} | VALUES.get(command, {})
    code, values = _rendered(_section(module.read_text(), block), values)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code], cwd=folder, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return values


def test_every_module_is_tried():
    assert [module.parent.name for module in MODULES] == sorted(PATHS)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("block", ["script", "stub"])
def test_modules_make_what_they_promise(module, block, tmp_path):
    values = _run(module, block, tmp_path / "job")
    promised = re.findall(r'path\("(.*?)"\)', _section(module.read_text(), "output"))
    assert promised
    for pattern in promised:
        assert list((tmp_path / "job").glob(_filled(pattern, values))), pattern


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.parent.name)
def test_modules_keep_the_rules(module):
    text, name = module.read_text(), module.parent.name
    assert text.startswith(
        f'process SEQMTL_{name.upper()} {{\n    tag "$meta.id"\n    label \'process_'
    )
    version = re.search(r"'quay\.io/biocontainers/seqmtl:([\d.]+)--\w+'", text)[1]
    assert f"'https://depot.galaxyproject.org/singularity/seqmtl:{version}--" in text
    assert 'conda "${moduleDir}/environment.yml"' in text
    environment = yaml.safe_load((module.parent / "environment.yml").read_text())
    assert environment["dependencies"] == [f"bioconda::seqmtl={version}"]
    assert environment["channels"] == ["conda-forge", "bioconda"]
    assert "task.ext.when == null || task.ext.when" in _section(text, "when")
    assert "args = task.ext.args ?: ''" in _section(text, "script")
    assert len(re.findall(r"seqmtl [a-z]", _rendered_code(text))) == 1
    assert "topic: versions, emit: versions_seqmtl" in _section(text, "output")


def _rendered_code(text):
    return re.search(r'"""\n(.*?)"""', _section(text, "script"), re.DOTALL)[1]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.parent.name)
def test_the_description_of_a_module_lists_its_channels(module):
    text = module.read_text()
    meta = yaml.safe_load((module.parent / "meta.yml").read_text())
    assert meta["name"] == f"seqmtl_{module.parent.name}"
    channels = [
        re.findall(r"(?:val|path)[ (](\w+)", line)
        for line in _section(text, "input").strip().splitlines()
    ]
    described = [c if isinstance(c, list) else [c] for c in meta["input"]]
    assert [[next(iter(item)) for item in channel] for channel in described] == channels
    outputs = _section(text, "output").strip().splitlines()
    assert list(meta["output"]) == [re.search(r"emit: (\w+)", line)[1] for line in outputs]
    for line, (channel,) in zip(outputs, meta["output"].values(), strict=True):
        named = re.findall(r"(?:val|path|eval)\((?:\"(.*?)\"|'(.*?)'|(\w+))\)", line)
        assert [next(iter(item)) for item in channel] == ["".join(parts) for parts in named]
