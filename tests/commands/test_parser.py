"""The commands as a list, near misses, wrong values: what is typed before a run."""

import re
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

from seqmtl import COMMANDS, commands
from seqmtl.commands._help import described
from seqmtl.commands._parser import Parser
from seqmtl.commands._request import name_of, options_of
from seqmtl.commands.main import GROUPS, command_named, command_names
from tests.invocation import python


def test_without_a_command_all_are_listed_and_that_is_a_usage_error(seqmtl):
    shown = seqmtl("", 2)
    assert shown.out == ""
    assert shown.err == seqmtl("--help").out == seqmtl("help").out
    listed = re.findall(r"^  (\w[\w-]*)  +\S", shown.err.split("  seqmtl help")[0], re.MULTILINE)
    assert listed == command_names()
    assert listed[0] == "annotate"
    titles = [line[:-1] for line in shown.err.splitlines() if re.fullmatch(r"[a-z].*:", line)]
    assert titles == [*GROUPS, "examples"]


def test_a_command_is_in_one_group_and_those_for_python_are_listed():
    modules = {module.name for module in iter_modules(commands.__path__)}
    names = {name for name in modules if not name.startswith("_")} - {"main"}
    assert sorted(command_names()) == sorted(names)
    assert {name for name in names if hasattr(command_module(name), name)} == {*COMMANDS}
    assert all(name_of(command_named(name)) == name for name in names)


def command_module(name):
    return import_module(f"seqmtl.commands.{name}")


@pytest.mark.parametrize("name", command_names())
def test_the_help_of_a_command_names_its_options_and_has_an_example(name, seqmtl, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = seqmtl(f"{name} --help").out.splitlines()
    command = command_named(name)
    assert lines[0].startswith(f"usage: seqmtl {name} ")
    assert described(command)[0] in lines
    for option in options_of(command):
        names = re.escape(", ".join(option.names))
        assert sum(re.match(rf"  {names}( |$)", line) is not None for line in lines) == 1
        assert option.help
    assert any(line.startswith(f"  seqmtl {name} ") for line in lines)
    assert max(map(len, lines)) <= 100


def test_python_without_docstrings_says_why_a_help_is_short():
    for name in ("train", "similarity"):
        shown = python(None, "-OO", "-m", "seqmtl", name, "--help").stdout
        assert "\n\ndescribed in a docstring, which python -OO leaves out\n\n" in shown
        assert "--output" in shown


def test_help_is_a_command_too(seqmtl):
    assert seqmtl("help scan").out == seqmtl("scan --help").out
    assert "there is no command 'scna'; did you mean 'scan'?" in seqmtl("help scna", 2).err


def test_what_follows_two_dashes_is_no_option():
    values, messages = Parser(command_named("info")).values(["-q", "--", "--tre"])
    assert values == {"model": "--tre"}
    assert messages.quiet


def test_neither_help_nor_version_needs_numpy():
    for words in (["help", "scan"], ["--version"], []):
        code = (
            "import sys\nfrom seqmtl.commands.main import main\n"
            f"try: main({words})\nexcept SystemExit: pass\nassert 'numpy' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
