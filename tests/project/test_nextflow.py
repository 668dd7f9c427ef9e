"""The Nextflow modules keep nf-core's rules, and their scripts and stubs make what they promise.

The workflow passes them what they take. Nextflow itself is not needed: the few forms of Groovy in
the modules are filled in here, and channels of the workflow are followed by the width of their
tuples.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from seqmtl.cli.main import build_parser

PIPELINES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"
NEXTFLOW = PIPELINES / "nextflow"
MODULES = sorted((NEXTFLOW / "modules" / "seqmtl").glob("*/main.nf"))
DATA = PIPELINES / "galaxy" / "test-data"
ALBA = "donors/velia_alba.fa.gz"
FAST = "--features wd:2 -C 1 --selection none"
CONFIG = """window = 61
[organisms.velia_alba]
genome = "velia_alba.fa.gz"
annotation = "velia_alba.gff3"
"""
PATHS = {
    "adapt": {
        "model": "donor.seqmtl",
        "windows": "windows.tsv",
        "genome": "",
        "introns": "",
        "tree": "tree.nwk",
    },
    "annotate": {"genome": ALBA, "introns": "", "model": "splice.seqmtl", "tree": "tree.nwk"},
    "calibrate": {"model": "donor.seqmtl", "dataset": "donors", "genomes": ALBA},
    "dataset": {"config": "", "genomes": ALBA, "annotations": "velia_alba.gff3"},
    "evaluate": {"model": "donor.seqmtl", "datasets": "donors", "genomes": ALBA},
    "pair": {
        "donor": "donor.seqmtl",
        "acceptor": "acceptor.seqmtl",
        "donors": "donors",
        "acceptors": "acceptors",
        "genomes": ALBA,
    },
    "report": {"results": "donors donor.seqmtl metrics.json", "tree": "tree.nwk"},
    "scan": {"model": "donor.seqmtl", "genome": ALBA},
    "train": {"dataset": "donors", "genomes": ALBA, "tree": "tree.nwk"},
    "variants": {"vcf": "variants.vcf", "model": "donor.seqmtl", "genome": ALBA},
}
VALUES = {
    "adapt": {"meta.id": "velia_nigra", "like": "velia_alba"},
    "annotate": {"meta.id": "velia_nigra", "like": "velia_alba"},
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


def _run(module, block, folder, programs=Path(sys.executable).parent):
    """Stage the inputs of a module as links, and run one of its blocks as Nextflow would."""
    command, text = module.parent.name, module.read_text()
    values = {"meta.id": "velia_alba", "task.cpus": "1"}
    for name, places in PATHS[command].items():
        staged = re.search(rf"path\({name}, stageAs: '(.*)/\*'\)", text)
        place = folder / (staged[1] if staged else "")
        place.mkdir(parents=True, exist_ok=True)
        for given in places.split():
            (place / Path(given).name).symlink_to(DATA / given)
        values[name] = " ".join(Path(given).name for given in places.split())
    (folder / "splice.toml").write_text(CONFIG)
    code, values = _rendered(_section(text, block), values | VALUES.get(command, {}))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, values


def test_every_module_is_tried():
    assert [module.parent.name for module in MODULES] == sorted(PATHS)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("block", ["script", "stub"])
def test_modules_make_what_they_promise(module, block, tmp_path):
    done, values = _run(module, block, tmp_path / "job")
    assert done.returncode == 0, done.stderr
    promised = re.findall(r'path\("(.*?)"\)', _section(module.read_text(), "output"))
    assert promised
    for pattern in promised:
        assert list((tmp_path / "job").glob(_filled(pattern, values))), pattern


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.parent.name)
def test_modules_call_one_command_and_pass_its_exit_code(module, tmp_path):
    """In place of seqmtl there is a script that notes how it was called, and exits with 3."""
    script = tmp_path / "bin" / "seqmtl"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/called\nexit 3\n')
    script.chmod(0o755)
    done, _ = _run(module, "script", tmp_path / "job", script.parent)
    assert done.returncode == 3
    words = (tmp_path / "called").read_text().splitlines()
    assert build_parser().parse_args(words).command == module.parent.name


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
    assert "topic: versions, emit: versions_seqmtl" in _section(text, "output")


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


def _parts(text):
    """Split at the commas that are in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _closed(text, start):
    """The place after the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at + 1
    raise AssertionError(f"not closed: {text[start:]}")


def _mapped(closure, width):
    """The width of what a closure makes of tuples of a width, which it takes apart or not."""
    taken, made = closure.strip("{} \n").split("->", 1)
    assert len(taken.split(",")) in {1, width}, closure
    made = made.strip()
    is_tuple = made.startswith("[") and _closed(made, 0) == len(made)
    return len(_parts(made[1:-1])) if is_tuple else 1


def _after(operator, given, width, widths):
    """The width after an operator, of what it is given."""
    others = [_width(part, widths) for part in _parts(given[1:-1])]
    if operator in {"filter", "first", "ifEmpty"}:
        return width
    if operator == "map":
        return _mapped(given, width)
    if operator == "join":
        return width + others[0] - 1
    if operator == "combine":
        return width + others[0]
    if operator == "mix":
        return width if {*others} == {width} else 0
    assert operator in {"toList", "collect", "collectFile"}, operator
    return 1


def _width(expression, widths):
    """The width of the tuples of a channel; 0 if it has several. A value is of width 1."""
    base = re.match(r"[\w.]+?(?=\s*(?:$|\.\w+\s*[({]))", expression)
    if base is None or expression.startswith("channel."):
        base = re.match(r"channel\.of\(.*?\)|.*", expression, re.DOTALL)
    width = 1 if base[0].startswith("channel.") else widths.get(base[0], 1)
    assert not re.match(r"SEQMTL_\w+\.out", base[0]) or base[0] in widths, base[0]
    at = base.end()
    while step := re.compile(r"\s*\.(\w+)\s*(?=[({])").match(expression, at):
        at = _closed(expression, step.end())
        given = expression[step.end() : at]
        width = _after(step[1], given, width, widths)
    return width


def _processes(text):
    """The included processes by name: their inputs and outputs, as widths."""
    found = {}
    includes = re.findall(r"include \{ (\w+)(?: as (\w+))? +\} from '\./(.*)'", text)
    assert len(includes) == text.count("include {")
    for name, alias, place in includes:
        module = (NEXTFLOW / f"{place}.nf").read_text()
        assert module.startswith(f"process {name} {{")
        taken = _section(module, "input").strip().splitlines()
        made = _section(module, "output").strip().splitlines()
        found[alias or name] = (
            [len(re.findall(r"(?:val|path)[ (]", line)) for line in taken],
            {
                re.search(r"emit: (\w+)", line)[1]: len(re.findall(r"(?:val|path|eval)\(", line))
                for line in made
            },
        )
    return found


def test_the_workflow_passes_what_the_modules_take():
    text = re.sub(r"//.*", "", (NEXTFLOW / "main.nf").read_text())
    processes = _processes(text)
    named, entry = re.findall(r"^workflow[^{]*\{.*?^\}", text, re.MULTILINE | re.DOTALL)
    widths = {
        f"{name}.out.{channel}": width
        for name, (_, made) in processes.items()
        for channel, width in made.items()
    }
    body, called = _section(named, "main"), []
    statement = re.compile(r"^    (?:(\w+) = (?=\S)|(\w+)(?=\())", re.MULTILINE)
    starts = [*statement.finditer(body)]
    for start, end in zip(starts, [*(s.start() for s in starts[1:]), len(body)], strict=True):
        written = body[start.end() : end].strip()
        if start[1]:
            widths[start[1]] = _width(written, widths)
        else:
            called.append(start[2])
            given = [_width(part, widths) for part in _parts(written[1:-1])]
            assert given == processes[start[2]][0], start[2]
    assert sorted(called) == sorted(processes)
    for line in _section(named, "emit").strip().splitlines():
        assert _width(line.split("=")[1].strip(), widths) == 2, line
    (passed,) = re.findall(r"^    SEQMTL(\(.*?^    \))", entry, re.MULTILINE | re.DOTALL)
    assert len(_parts(passed[1:-1])) == len(_section(named, "take").strip().splitlines())
    settings = (NEXTFLOW / "nextflow.config").read_text()
    assert {*re.findall(r"params\.(\w+)", entry)} == {
        *re.findall(r"^    (\w+) +=", settings.split("}")[0], re.MULTILINE)
    }
    chosen = re.findall(r"withName: '(.*)'", settings)
    assert {*"|".join(chosen).split("|")} <= {*processes}
    assert re.findall(r"^    (\w+) \{", settings.split("profiles {")[1], re.MULTILINE) == [
        "conda",
        "docker",
        "singularity",
        "test",
    ]
    rows = (NEXTFLOW / "assets" / "samplesheet.csv").read_text().splitlines()
    for path in {path for row in rows[1:] for path in row.split(",") if "/" in path}:
        assert (NEXTFLOW / "assets" / path).is_file(), path
    assert {*rows[0].split(",")} == {*re.findall(r"row\.(\w+)", entry.split("SEQMTL(")[0])}
