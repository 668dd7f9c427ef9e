"""The page on troubleshooting quotes messages that the program has."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
GAP = "…"
ARGUMENT = re.compile(r"%(?:\.\d+)?[sdrfg]")


def _text(node):
    """The text of an expression, with a gap for what only a run can tell."""
    match node:
        case ast.Constant(value=str(text)):
            return ARGUMENT.sub(GAP, text).replace("%%", "%")
        case ast.JoinedStr():
            return "".join(map(_text, node.values))
        case ast.BinOp(op=ast.Add()):
            return _text(node.left) + _text(node.right)
    return GAP


def _messages():
    for path in (ROOT / "seqmtl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                yield re.sub(f"{GAP}+", GAP, _text(node))


def test_every_message_that_is_explained_is_one_of_the_program():
    quoted = re.findall(r"^### `(.*)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(quoted) > 20
    messages = set(_messages())
    missing = [text for text in quoted if not any(_is_part(text, m) for m in messages)]
    assert not missing, "\n".join(missing)


def _is_part(quoted, message):
    """Whether a message has the pieces of the quotation, in their order."""
    pieces = [piece for piece in quoted.split(GAP) if piece.strip(" ;,.%")]
    place = 0
    for piece in pieces:
        place = message.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True
