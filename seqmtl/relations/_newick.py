"""Parse Newick and Nexus files.

The reader of Bio.Phylo is lenient: it reads the unquoted name ``Homo sapiens`` as ``sapiens``, and
the length ``nan`` as a name. Its Nexus reader takes missing lengths for 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from itertools import dropwhile, groupby
from typing import Any, TypeAlias

from seqmtl.exceptions import InputFormatError

#: Parents, lengths and labels of the nodes, parents before children, leaves in the order of a file.
Nodes: TypeAlias = tuple[list[int], list[float], list[str]]
Token: TypeAlias = re.Match[str]

_LETTERS = r"[^\s'(),:;\[\]]+"
_TOKEN = re.compile(
    r"(?P<blank>(?:\s|\[[^\]]*\])+)"
    r"""|(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")"""
    # with an apostrophe in it, such as Burton's_mouthbreeder
    rf"|(?P<word>{_LETTERS}(?:'{_LETTERS})+(?=[\s(),:;\[]|$)"
    # 95'a b' is not the names 95'a and b', but two names in a row
    r"(?!(?:[^'(),:;\[\]]|(?<=\S)'(?=[^\s(),:;\[])){0,100}(?<=\S)'(?:[\s(),:;\[]|$))"
    rf"|{_LETTERS})"
    r"|(?P<sign>.)"
)
_LENGTH = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SUPPORT = re.compile(r"[\d.]+(e-?\d+)?(/[\d.]+)*", re.IGNORECASE)
_REMEDY = (
    "put names with blanks or brackets between single quotes, and write an apostrophe there twice"
)


def parse_tree(text: str, where: str) -> Nodes:
    """Parse a Newick or Nexus text with a single tree.

    Parameters
    ----------
    text : str
        Content of a file.
    where : str
        Name of the file, for messages.

    Returns
    -------
    Nodes
        Missing lengths are NaN, and so is that of the branch above the root, which is in no
        path. Numbers at inner nodes are support values, not labels. An apostrophe between two
        letters of an unquoted name is a letter. Names may be in double quotes, too.

    Raises
    ------
    InputFormatError
        If there is no tree, more than one, or a malformed one.
    """
    error = partial(InputFormatError, path=where)
    if re.search("[\0-\x08]", text):
        raise error("is not a Newick tree: it contains zero bytes or other control characters")
    tokens = [token for token in _TOKEN.finditer(text) if token.lastgroup != "blank"]
    names: dict[str, str] = {}
    if text.lstrip()[:6].upper() == "#NEXUS":
        tokens, names = _nexus_tree(tokens[1:], error)
    parents, lengths, labels = [-1], [math.nan], [""]
    node, is_inner, part = 0, False, list[Token]()
    for token in [*_one_statement(tokens, error), None]:
        sign = token and token["sign"]
        if token and sign in {None, ":"}:
            part.append(token)
            continue
        if sign == "(" and (part or is_inner):
            before = _text_of(part[-1:]) or ")"
            raise error(f"is not a Newick tree: {before + '('!r}; {_REMEDY}")
        if sign != "(":
            label, lengths[node] = _label_and_length(part, error, is_inner=is_inner)
            labels[node], part = names.get(label, label).strip(), []
        if sign and sign != "(" and not node:
            raise error("is not a Newick tree; check its brackets and commas")
        is_inner = sign == ")"
        if is_inner:
            node = parents[node]
        elif sign:
            parents.append(node if sign == "(" else parents[node])
            lengths.append(math.nan)
            labels.append("")
            node = len(labels) - 1
    lengths[0] = math.nan
    return parents, lengths, labels


def nodes_of(tree: Any) -> Nodes:
    """Return the nodes of a Bio.Phylo tree, without the branch above the root."""
    from Bio.Phylo.BaseTree import Tree

    if not isinstance(tree, Tree):
        raise TypeError(
            "tree must be a file, Newick text, a Tree or one of Bio.Phylo, got "
            f"{type(tree).__name__}; read it first"
        )
    parents, lengths, labels = list[int](), list[float](), list[str]()
    stack: list[tuple[Any, int]] = [(tree.root, -1)]
    while stack:
        clade, parent = stack.pop()
        length = math.nan if clade.branch_length is None or parent < 0 else clade.branch_length
        stack.extend((child, len(parents)) for child in reversed(clade.clades))
        parents.append(parent)
        lengths.append(float(length))
        labels.append(clade.name or "")
    return parents, lengths, labels


def quote(label: str) -> str:
    """Quote a label as Newick requires."""
    if re.fullmatch(r"[^\s()\[\]':;,\"]*", label) and not _SUPPORT.fullmatch(label):
        return label
    return "'" + label.replace("'", "''") + "'"


def _label(token: Token) -> str:
    """Return a name without its quotes."""
    if not token["quoted"]:
        return token[0]
    mark = token[0][0]
    return " ".join(token[0][1:-1].replace(2 * mark, mark).split())


def _text_of(tokens: list[Token]) -> str:
    """Return tokens as they are in the file."""
    return tokens[0].string[tokens[0].start() : tokens[-1].end()] if tokens else ""


def _label_and_length(
    tokens: list[Token], error: Callable[[str], Exception], *, is_inner: bool
) -> tuple[str, float]:
    """Return the label of a node, and the length above it or NaN."""
    texts = [token[0] for token in tokens]
    end = texts.index(":") if ":" in texts else len(texts)
    name, length = tokens[:end], _text_of(tokens[end + 1 :])
    if end < len(texts) and not _LENGTH.fullmatch(length):
        raise error(
            f"branch lengths must be numbers, got {length!r}; correct it or leave out its colon"
        )
    is_support = is_inner and bool(name) and _SUPPORT.fullmatch(texts[end - 1])
    if is_support and (end == 1 or name[0]["quoted"]):
        del name[-1:]
    if len(name) > 1:
        raise error(f"is not a Newick tree: {_text_of(name[:2])!r}; {_REMEDY}")
    return _label(name[0]) if name else "", float(length or "nan")


def _one_statement(tokens: list[Token], error: Callable[[str], Exception]) -> list[Token]:
    """Return the tokens of a tree without the semicolon, if there is one tree with its brackets."""
    signs = [token["sign"] for token in tokens]
    if stray := next((sign for sign in signs if sign in {"'", "[", "]"}), None):
        raise error(
            f"is not a Newick tree: {stray} without its partner; check quotes and comments, and "
            "put names that begin or end with an apostrophe between single quotes"
        )
    trees = [[*part] for is_end, part in groupby(tokens, lambda t: t[0] == ";") if not is_end]
    if len(trees) != 1 or not {"(", ";"} & {*signs}:
        n_trees = sum(any(token[0] == "(" for token in tree) for tree in trees)
        raise error(
            f"must hold one Newick tree, got {n_trees}"
            f"{' and other text' * (0 < n_trees < len(trees))}; give a file with one tree, and put "
            "names with semicolons between single quotes"
        )
    if signs.count("(") != signs.count(")"):
        raise error(
            f"is not a Newick tree: {signs.count('(')} opening and {signs.count(')')} closing "
            "brackets; check that the file is whole, and its quotes"
        )
    return trees[0]


def _nexus_tree(
    tokens: list[Token], error: Callable[[str], Exception]
) -> tuple[list[Token], dict[str, str]]:
    """Return the Newick part of the single tree of a Nexus file, and its translation table."""
    trees, block = list[list[Token]](), ""
    names: dict[str, str] = {}
    for _, command in groupby(tokens, lambda token: token[0] == ";"):
        first, *others = command
        match first[0].lower():
            case "begin":
                block = " ".join(token[0] for token in others).lower()
            case "end" | "endblock":
                block = ""
            case "translate" if block == "trees":
                names |= _translation(others, error)
            case "tree" | "utree" if block == "trees":
                trees.append([*dropwhile(lambda token: token[0][-1] != "=", others)][1:])
    if len(trees) != 1:
        raise error(
            f"must hold one tree in its trees block, got {len(trees)}; give a file with one tree"
        )
    return trees[0], names


def _translation(tokens: list[Token], error: Callable[[str], Exception]) -> dict[str, str]:
    """Return the names by key of a translate command."""
    pairs: list[list[Token]] = [[]]
    for token in tokens:
        if token[0] == ",":
            pairs.append([])
        else:
            pairs[-1].append(token)
    for pair in pairs:
        if len(pair) != 2:
            raise error(
                f"translate must give pairs of key and name, got {_text_of(pair)!r}; put names "
                "with blanks or brackets between single quotes"
            )
    return {_label(key): _label(name) for key, name in pairs}
