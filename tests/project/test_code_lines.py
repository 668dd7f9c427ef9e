"""Lines of code are counted as by hand."""

from tests.project import code_lines

SOURCE = '''"""Documentation
of a module."""

# a comment
x = """a text,

not a docstring"""  # two lines of code, as one is blank


class Room:
    """One line."""

    def walls(self):
        """Of a
        function.
        """
        "another text"
        return 4  # the fifth line of this class is one of code
'''


def test_a_tiny_tree_counted_by_hand(tmp_path):
    for name, text in (
        ("seqmtl/__init__.py", "x = 1\n"),
        ("seqmtl/scan/run.py", SOURCE),
        ("seqmtl/scan/empty.py", ""),
        ("tests/scan/cases/one.py", "# nothing\n\nassert True\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    files = code_lines.lines_by_file(tmp_path)
    assert files == {
        "seqmtl/__init__.py": 1, "seqmtl/scan/empty.py": 0, "seqmtl/scan/run.py": 6,
        "tests/scan/cases/one.py": 1,
    }  # fmt: skip
    rooms = code_lines.lines_by_room(files)
    assert rooms == {"seqmtl": 1, "seqmtl/scan": 6, "tests/scan": 1}
