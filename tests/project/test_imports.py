"""Heavy libraries are imported late, compiled loops stand alone, and names exported exist."""

import ast
import importlib
from pathlib import Path

import pytest

import seqmtl
from tests.invocation import python

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "seqmtl").rglob("*.py"))


def _run(code, *arguments):
    """Run code in a fresh interpreter and return what it prints."""
    done = python(ROOT, "-c", code, *map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done.stdout


def _imported(node):
    """Return the packages that a node imports; seqmtl's own modules whole."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    else:
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return {name if name.startswith("seqmtl") else name.split(".")[0] for name in modules}


def test_modules_of_compiled_loops_import_only_numpy_and_jit():
    # numba's cache watches a loop's own file: what it took from others would go stale
    for path in MODULES:
        if path.name.endswith("_loops.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                assert _imported(node) <= {"numpy", "math", "seqmtl._jit", "__future__"}, path
                assert not getattr(node, "level", 0), path


def test_slow_libraries_are_imported_where_they_are_used():
    slow = {"scipy", "sklearn", "matplotlib", "Bio"}
    for path in MODULES:
        allowed = {"sklearn"} if path.parent.name in {"estimators", "kernel_mkl"} else set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            assert _imported(node) & slow <= allowed, path


HELP = """
import sys, runpy, seqmtl
print(*{name.split('.')[0] for name in sys.modules})
sys.argv = ['seqmtl', '--help']
try: runpy.run_module('seqmtl', run_name='__main__')
except SystemExit as stop: assert not stop.code
print('LOADED', *{name.split('.')[0] for name in sys.modules})
"""


def test_importing_the_package_and_help_import_nothing_heavy():
    text, loaded = _run(HELP).split("LOADED")
    assert "examples:" in text
    heavy = {"numpy", "numba", "scipy", "sklearn", "matplotlib", "Bio"}
    assert not heavy & {*text.partition("\n")[0].split(), *loaded.split()}


def test_training_imports_what_it_needs(tmp_path):
    rows = ["organism\tlabel\tsequence"]
    for i in range(60):
        tail = "".join("ACGT"[i // 4**k % 4] for k in range(3))
        rows.append(f"{('worm', 'fly')[i % 2]}\t{1 if i % 3 else -1}\tGA{'AC'[i % 3 == 0]}T{tail}")
    (tmp_path / "data.tsv").write_text("\n".join(rows) + "\n")
    code = (
        "import sys\n"
        "from seqmtl.commands.main import main\n"
        "assert main(['train', sys.argv[1], '--features', 'wd:2', '-o', sys.argv[2]]) == 0\n"
        "print(*sys.modules)\n"
    )
    loaded = set(_run(code, tmp_path / "data.tsv", tmp_path / "model").split())
    assert "numba" in loaded  # which, to compile, loads scipy.linalg itself for its BLAS
    heavy = {"sklearn", "matplotlib", "Bio", "scipy.optimize"}
    assert not heavy & loaded
    again = set(_run(code, tmp_path / "data.tsv", tmp_path / "model").split())
    compiling = {"numba.np.arraymath", "numba.np.linalg", "numba.typed.typedlist"}
    others = {"scipy.linalg", "scipy.sparse"}
    assert not (heavy | compiling | others) & again
    assert (tmp_path / "model").exists()


def test_every_public_name_can_be_imported():
    scope = {}
    exec("from seqmtl import *", scope)
    assert set(seqmtl.__all__) <= set(scope)
    assert seqmtl.__all__ == sorted(seqmtl.__all__)
    assert dir(seqmtl) == seqmtl.__all__
    with pytest.raises(AttributeError, match="module 'seqmtl' has no attribute 'MultitaskSVC'"):
        _ = seqmtl.MultitaskSVC


def test_every_subpackage_exports_what_it_says():
    for folder in (ROOT / "seqmtl").iterdir():
        if (folder / "__init__.py").exists():
            package = importlib.import_module(f"seqmtl.{folder.name}")
            assert all(hasattr(package, name) for name in getattr(package, "__all__", [])), folder


@pytest.mark.parametrize("order", ["sorted", "reversed"])
def test_no_subpackage_hides_the_function_of_a_command(order):
    # a subpackage named as a command would become the attribute of that name when it is imported
    code = (
        "import importlib, inspect, pkgutil, sys, seqmtl\n"
        "walked = pkgutil.walk_packages(seqmtl.__path__, 'seqmtl.')\n"
        "names = sorted(each.name for each in walked if not each.name.endswith('__main__'))\n"
        "for name in names[:: {'sorted': 1, 'reversed': -1}[sys.argv[1]]]:\n"
        "    importlib.import_module(name)\n"
        "assert all(inspect.isfunction(getattr(seqmtl, name)) for name in seqmtl.COMMANDS)\n"
        "print(*seqmtl.COMMANDS)\n"
    )
    assert "scan" in _run(code, order).split()
