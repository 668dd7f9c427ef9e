"""The Galaxy wrappers are clean, and their tests pass: each is run as Galaxy would run it."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from seqmtl.cli.main import build_parser

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "pipelines" / "galaxy"
TOOLS = sorted(FOLDER.glob("seqmtl_*.xml"))
COMMANDS = [
    "adapt",
    "annotate",
    "calibrate",
    "dataset",
    "evaluate",
    "pair",
    "report",
    "scan",
    "train",
    "variants",
]

LINT = """
import sys
from galaxy.tool_util.lint import LintLevel, lint_tool_source
from galaxy.tool_util.parser import get_tool_source
sources = map(get_tool_source, sys.argv[1:])
sys.exit(not all([lint_tool_source(s, LintLevel.ALL, LintLevel.WARN) for s in sources]))
"""  # what `planemo lint` calls


@pytest.fixture(scope="module")
def galaxy():
    """What Galaxy's own library has: its templates and assertions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("galaxy.tool_util", reason="galaxy-tool-util is not installed")
        from galaxy.tool_util import loader
        from galaxy.tool_util.verify import asserts
        from galaxy.util import template

        yield {
            "load": lambda path: loader.load_tool(str(path)).getroot(),
            "fill": lambda text, names: template.fill_template(
                text, context=names, python_template_version="3.11"
            ),
            "verify": asserts.verify_assertions,
        }


class Data:
    """A dataset of a history: its text is the path of a file whose name says nothing."""

    numbers = itertools.count()

    def __init__(self, folder, source=None, extension=None):
        self.path = folder / f"dataset_{next(self.numbers)}.dat"
        self.ext, self.extra_files_path = extension, self.path.with_suffix(".files")
        if source is not None and source.is_dir():
            shutil.copytree(source, self.extra_files_path)
        elif source is not None:
            shutil.copyfile(source, self.path)

    def __str__(self):
        return str(self.path)


def _name(node):
    return node.get("name") or node.get("argument").lstrip("-").replace("-", "_")


def _data(given, folder):
    names = given.get("value").split(",")
    extensions = [{".json": "json"}.get(Path(name).suffix, given.get("ftype")) for name in names]
    return [
        Data(folder, FOLDER / "test-data" / name, extension)
        for name, extension in zip(names, extensions, strict=True)
    ]


def _value(node, given, folder):
    """The value of one parameter, from a test or by default."""
    if node.get("type") == "data":
        made = _data(given, folder) if given is not None else [None]
        return made if node.get("multiple") else made[0]
    if given is not None:
        return given.get("value")
    chosen = [option.get("value") for option in node.findall("option") if option.get("selected")]
    return chosen[0] if chosen else node.get("value", "")


def _values(inputs, test, folder):
    """The values of all parameters of a test, as a template sees them."""
    values = {}
    for node in inputs:
        given = next((n for n in test if n.get("name") == _name(node)), None)
        if node.tag == "repeat":
            items = [n for n in test.findall("repeat") if n.get("name") == node.get("name")]
            values[_name(node)] = [_values(node, item, folder) for item in items]
        elif node.tag == "conditional":
            inner = _values(node.findall("param"), given, folder)
            (chosen,) = (w for w in node.findall("when") if w.get("value") in inner.values())
            values[_name(node)] = inner | _values(chosen, given, folder)
        else:
            values[_name(node)] = _value(node, given, folder)
    return values


def _job(galaxy, tool, test, folder, path):
    """Run one test of a wrapper, and return the finished process and the names of the template."""
    names = _values(tool.find("inputs"), test, folder)
    names |= {node.get("name"): Data(folder) for node in tool.find("outputs").findall("data")}
    for node in tool.iterfind("configfiles/configfile"):
        file = folder / node.get("name")
        file.write_text(galaxy["fill"](node.text, names))
        names[node.get("name")] = file
    command = " ".join(galaxy["fill"](tool.findtext("command"), names).split("\n"))
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "GALAXY_SLOTS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, names


def _collected(node, folder):
    """The files of a collection by their designation."""
    pattern = re.compile(node.find("discover_datasets").get("pattern"))
    matches = filter(None, map(pattern.fullmatch, sorted(p.name for p in folder.iterdir())))
    return {match["designation"]: folder / match[0] for match in matches}


def _described(node):
    return [
        {"tag": child.tag, "attributes": dict(child.attrib), "children": _described(child)}
        for child in node
    ]


def _check(galaxy, expected, file):
    assertions = expected.find("assert_contents")
    if assertions is not None:
        galaxy["verify"](file.read_bytes(), _described(assertions))
    for extra in expected.findall("extra_files"):
        _check(galaxy, extra, file.with_suffix(".files") / extra.get("name"))


def test_every_step_has_a_wrapper():
    assert [path.stem.removeprefix("seqmtl_") for path in TOOLS] == COMMANDS


def test_wrappers_are_clean(galaxy):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LINT, *map(str, TOOLS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_wrappers_pass_their_tests(galaxy, path, tmp_path):
    tool = galaxy["load"](path)
    outputs = {node.get("name"): node for node in tool.find("outputs")}
    command = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for number, test in enumerate(tool.find("tests")):
        folder = tmp_path / str(number)
        folder.mkdir()
        done, names = _job(galaxy, tool, test, folder, command)
        assert done.returncode == 0, done.stderr
        assert int(test.get("expect_num_outputs")) == len(outputs)
        for expected in test.findall("output"):
            node = outputs[expected.get("name")]
            made = node.get("from_work_dir")
            _check(galaxy, expected, folder / made if made else names[node.get("name")].path)
        for expected in test.findall("output_collection"):
            found = _collected(outputs[expected.get("name")], folder)
            assert len(found) == int(expected.get("count"))
            for element in expected:
                _check(galaxy, element, found[element.get("name")])


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_wrappers_call_one_command_and_pass_its_exit_code(galaxy, path, tmp_path):
    """In place of seqmtl there is a script that notes how it was called, and exits with 3."""
    script = tmp_path / "bin" / "seqmtl"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/called\nexit 3\n')
    script.chmod(0o755)
    tool = galaxy["load"](path)
    folder = tmp_path / "job"
    folder.mkdir()
    done, _ = _job(
        galaxy,
        tool,
        tool.find("tests")[0],
        folder,
        f"{script.parent}{os.pathsep}{os.environ['PATH']}",
    )
    assert tool.find("command").get("detect_errors") == "exit_code"
    assert done.returncode == 3
    words = (tmp_path / "called").read_text().splitlines()
    assert build_parser().parse_args(words).command == path.stem.removeprefix("seqmtl_")
