"""A removed command or option, if typed, names its replacement in one line and exits with 2."""

import pytest

from seqmtl.commands import _removed
from seqmtl.commands.main import build_parser, main, parsers_of


@pytest.mark.parametrize("command", sorted(_removed.COMMANDS))
def test_removed_command_names_its_replacement(command, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main([command, "--any", "thing"])
    assert exit_info.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"seqmtl: error: {command} was removed: ")


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, each in _removed.OPTIONS.items() for option in each],
)
@pytest.mark.parametrize("has_value", [True, False])
def test_removed_option_names_its_replacement(command, option, has_value, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main([command, f"{option}=x" if has_value else option])
    assert exit_info.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"seqmtl {command}: error: {option} was removed: ")


def test_what_was_removed_is_not_there():
    commands = parsers_of(build_parser())
    assert not set(_removed.COMMANDS) & set(commands)
    for command, options in _removed.OPTIONS.items():
        assert not set(options) & set(commands[command]._option_string_actions), command
