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


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("scna m g -o x", "seqmtl: error: there is no command 'scna'; did you mean 'scan'?\n"),
        ("zzz", "there is no command 'zzz'; seqmtl lists them\n"),
        ("--versoin", "seqmtl: error: there is no option --versoin; did you mean '--version'?\n"),
        # no abbreviation, and told even if something else is missing, too
        (
            "scan m g --region x -o y",
            "scan: error: there is no option --region; did you mean '--regions'? (",
        ),
        ("scan m g --outptu=x", "there is no option --outptu; did you mean '--output'? ("),
        ("scan m g -o x --tree t", "no option --tree; seqmtl adapt --tree makes a model that has"),
        ("scan m g -o x --zzzz", "there is no option --zzzz (seqmtl help scan)\n"),
        ("report . --tree t -o x", "has the organism; report draws no tree ("),
        ("calibrate m d --method isotonic -o x", "no option --method; calibrate chooses the curve"),
        ("scan m g -o x --format bde", "--format must be one of bigwig, bed, gff3, spsc, "),
        ("scan m g -o x --format bde", "got 'bde'; did you mean 'bed'? (seqmtl help scan)\n"),
        # names are those that were typed
        ("train d -o", "train: error: -o: expected one argument (seqmtl help train)\n"),
        ("train d --output", "train: error: --output: expected one argument"),
        # numbers out of range, before a file is read
        ("scan m g -o x --min-probability 2", "--min-probability must be a number from 0 to 1"),
        ("scan m g -o x --min-probability -1 --format all", "must be a number from 0 to 1"),
        ("scan m g -o x --min-probability nan", "must be a number from 0 to 1"),
        ("train w.tsv -o m --seed -1", "--seed must be an integer of at least 0, got -1"),
        ("train w.tsv -o m -C 0", "a finite number above 0, got 0"),
        ("explain m -o x --max-order 11", "--max-order must be an integer from 1 to 10, got 11"),
        ("scan m g -o x --top 0", "scan: error: --top must be an integer of at least 1, got 0 ("),
    ],
)
def test_what_is_wrong_is_told_in_a_line_with_what_was_meant(command, message, seqmtl):
    shown = seqmtl(command, 2)
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_what_follows_two_dashes_is_no_option():
    values, messages = Parser(command_named("info")).values(["-q", "--", "--tre"])
    assert values == {"model": "--tre"}
    assert messages.quiet


def test_wrong_values_that_show_in_the_run_are_named_as_typed(tmp_path, seqmtl):
    genome = tmp_path / "g.fa"
    genome.write_text(f">c\n{'ACGT' * 200}\n")
    scan = f"scan starter:donor {genome}"
    fly = "--organism d_melanogaster"
    for command, message in (
        (
            f"{scan} {fly} --min-probability 2 -o {tmp_path}/x.bed",
            "scan: error: --min-probability must be a number from 0 to 1, got 2",
        ),
        (f"{scan} {fly} -o {tmp_path}/x.foo", "scan: error: -o must end in one of .bw"),
        (f"{scan} {fly} --output {tmp_path}/x.foo", "scan: error: --output must end in one of"),
        (
            f"{scan} --organism d_melanogastre -o {tmp_path}/x.bed",
            "scan: error: --organism: task 'd_melanogastre' is not in the model's task kernel",
        ),
        (f"{scan} --like Quarx -o {tmp_path}/x.bed", "scan: error: --like: 'Quarx' is neither"),
        ("similarity --tree metazoa --organisms human,muose", "--organisms: task 'muose' is not"),
    ):
        assert message in seqmtl(command, 2).err
    # what is in files is data
    assert "seqmtl: error: " in seqmtl(f"{scan}.gz {fly} -o {tmp_path}/x.bed", 1).err


def test_neither_help_nor_version_needs_numpy():
    for words in (["help", "scan"], ["--version"], []):
        code = (
            "import sys\nfrom seqmtl.commands.main import main\n"
            f"try: main({words})\nexcept SystemExit: pass\nassert 'numpy' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
