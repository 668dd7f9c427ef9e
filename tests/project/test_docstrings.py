"""Docstrings list the parameters that signatures have."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "seqmtl").rglob("*.py"))


def parameters_of(node):
    """Return the names in a signature, as numpydoc writes them."""
    a = node.args
    names = [p.arg for p in [*a.posonlyargs, *a.args]]
    names += [f"*{a.vararg.arg}"] if a.vararg else []
    names += [p.arg for p in a.kwonlyargs]
    names += [f"**{a.kwarg.arg}"] if a.kwarg else []
    return [name for name in names if name not in {"self", "cls"}]


def documented(text):
    """Return the names in the section Parameters, or None where there is none."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=\n\n\S+[^\n]*\n-{3,}|\Z)", text or "", re.M | re.S
    )
    if section is None:
        return None
    heads = [line for line in section[1].splitlines() if line and not line.startswith(" ")]
    return [name.strip() for head in heads for name in head.split(" : ")[0].split(",")]


def cases(path):
    """Yield the name, signature and docstring of all functions and classes of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node, ast.get_docstring(node)
        elif isinstance(node, ast.ClassDef):
            made = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
            for function in made:
                yield node.name, function, ast.get_docstring(node)


def test_parameters_are_those_of_the_signature():
    for path in MODULES:
        for name, function, text in cases(path):
            found = documented(text)
            if found is not None:
                assert sorted(found) == sorted(parameters_of(function)), f"{path}: {name}"


def test_a_difference_is_found(tmp_path):
    source = tmp_path / "module.py"
    source.write_text(
        'def f(a, *, b=1):\n    """Do.\n\n    Parameters\n    ----------\n    a, c : int\n'
        '        What.\n\n    Returns\n    -------\n    int\n    """\n'
    )
    ((_, function, text),) = cases(source)
    assert documented(text) == ["a", "c"]
    assert parameters_of(function) == ["a", "b"]
