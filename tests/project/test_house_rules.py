"""Rules of this code base that a linter does not know."""

import ast
import functools
import graphlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import seqmtl

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "seqmtl").rglob("*.py"))
KERNELS = [path for path in MODULES if path.name.endswith("_kernels.py")]


def _name(path):
    return str(path.relative_to(ROOT))


@functools.cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _run(code, *arguments, cwd=ROOT):
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_import_runs_in_a_circle():
    # also those inside functions and those for the type checker
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in MODULES}
    graph = {}
    for module, path in names.items():
        imports = [node for node in _walk(path) if isinstance(node, ast.ImportFrom)]
        found = {f"{node.module}.{a.name}" for node in imports for a in node.names}
        graph[module] = (found | {node.module for node in imports}) & set(names)
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError
    assert order.index("seqmtl.exceptions") < order.index("seqmtl.cli.main")


@functools.cache
def _walk(path):
    return list(ast.walk(_tree(path)))


def _nodes(paths):
    """Yield the nodes of modules, with the name of the module."""
    return ((node, _name(path)) for path in paths for node in _walk(path))


def _dotted(node):
    """Return a name such as ``os.path.join``; what is no name in it is ()."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"


def _imported(node):
    """Return the packages that a node imports; seqmtl's own modules whole."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    else:
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return {name if name.startswith("seqmtl") else name.split(".")[0] for name in modules}


def test_kernels_import_numpy_and_the_door_to_numba_only():
    # numba's cache watches the kernel's own file: what it took from others would go stale
    for node, name in _nodes(KERNELS):
        assert _imported(node) <= {"numpy", "math", "seqmtl._jit", "__future__"}, name
        assert not getattr(node, "level", 0), name


def test_kernels_neither_raise_nor_close_over_names():
    for node, name in _nodes(KERNELS):
        assert not isinstance(node, (ast.Raise, ast.Assert)), name
        if isinstance(node, ast.FunctionDef):
            inner = [n for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
            assert inner == [node], name


def test_only_the_command_line_prints_and_exits():
    an_output = ROOT / "seqmtl" / "files" / "outputs.py"  # one that is named -
    for node, name in _nodes(
        p for p in MODULES if "cli" not in p.relative_to(ROOT).parts and p != an_output
    ):
        if isinstance(node, ast.Call):
            stops = {"print", "exit", "quit", "sys.exit", "os._exit"}
            assert _dotted(node.func) not in stops, name
        assert _dotted(node) not in {"sys.stdout", "sys.stderr"}, name


def test_numba_has_one_door():
    for node, name in _nodes(p for p in MODULES if p != ROOT / "seqmtl" / "_jit.py"):
        assert not _imported(node) & {"numba", "llvmlite"}, name


_FILE_MODULES = {"bz2", "gzip", "lzma", "mmap", "shutil", "tarfile", "tempfile"}
_OPENING = re.compile(
    r"open|zipfile\.ZipFile|(np|numpy)\.(memmap|fromfile|loadtxt|genfromtxt|save.*)"
    r"|os\.(fdopen|replace|renames|remove|makedirs|removedirs|truncate|link|symlink|mkfifo|chmod)"
    r"|.*\.(open|read_text|read_bytes|write_text|write_bytes|unlink|mkdir|rmdir|touch|rename|tofile)"
)


def _opens_files(nodes):
    """Return what in a module opens, makes, moves or removes files."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            is_found = bool({alias.name for alias in node.names} & _FILE_MODULES)
        elif isinstance(node, ast.ImportFrom):
            is_found = node.module in {"os", *_FILE_MODULES}
        elif isinstance(node, ast.Call):
            function, n_arguments = _dotted(node.func), len(node.args) + len(node.keywords)
            is_found = bool(_OPENING.fullmatch(function))
            # Path.replace takes one argument, str.replace two or more
            is_found |= function.endswith(".replace") and n_arguments == 1
        else:
            is_found = False
        found += [ast.unparse(node)] * is_found
    return found


# what comes with the package is read by importlib.resources
_READS_PACKAGE_DATA = ROOT / "seqmtl" / "files" / "catalogue.py"


def test_only_the_room_of_files_opens_them():
    for path in MODULES:
        if path.parent != ROOT / "seqmtl" / "files" and path != _READS_PACKAGE_DATA:
            assert _opens_files(_walk(path)) == [], path


def test_opening_a_file_is_found():
    for code in (
        "open(path)",
        "Path(path).open()",
        "os.open(path)",
        "os.replace(a, b)",
        "a.replace(b)",
        "path.write_text(text)",
        "np.memmap(path)",
        "import gzip",
        "from tempfile import mkdtemp",
        "from os import unlink",
    ):
        assert _opens_files(ast.walk(ast.parse(code))) == [code]
    others = "text.replace('a', 'b'); replace(settings, C=1); figure.savefig(s)"
    assert _opens_files(ast.walk(ast.parse(others))) == []


def test_every_public_name_can_be_imported():
    scope = {}
    exec("from seqmtl import *", scope)
    assert set(seqmtl.__all__) <= set(scope)
    assert seqmtl.__all__ == sorted(seqmtl.__all__)
    assert set(seqmtl.__all__) == {*seqmtl._HOME, "__version__"}
    assert dir(seqmtl) == seqmtl.__all__
    with pytest.raises(AttributeError, match="module 'seqmtl' has no attribute 'MultitaskSVC'"):
        _ = seqmtl.MultitaskSVC


def test_every_module_exports_what_it_says():
    for path in MODULES:
        for node in _tree(path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                if path == ROOT / "seqmtl" / "__init__.py":
                    continue  # see above
                parts = path.relative_to(ROOT).with_suffix("").parts
                module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                names = ast.literal_eval(node.value)
                loaded = __import__(module, fromlist=names)
                assert all(hasattr(loaded, name) for name in names), module


def test_help_is_quick_because_it_imports_nothing_heavy():
    code = (
        "import sys, runpy\n"
        "sys.argv = ['seqmtl', '--help']\n"
        "try: runpy.run_module('seqmtl', run_name='__main__')\n"
        "except SystemExit as stop: assert not stop.code\n"
        "print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    text, loaded = _run(code).split("LOADED")
    assert "examples:" in text
    heavy = {"numpy", "numba", "scipy", "sklearn", "matplotlib", "Bio"}
    assert not heavy & set(loaded.split())


def test_slow_libraries_are_imported_where_they_are_used():
    slow = {"scipy", "sklearn", "matplotlib", "Bio"}
    for path in MODULES:
        allowed = {"estimators": {"sklearn"}, "tables": {"sklearn"}}.get(path.parent.name, set())
        for node in _tree(path).body:
            assert _imported(node) & slow <= allowed, path


def test_importing_the_package_imports_nothing_heavy():
    loaded = _run("import sys, seqmtl; print(*{name.split('.')[0] for name in sys.modules})")
    assert not {"numpy", "numba", "scipy", "sklearn", "matplotlib"} & set(loaded.split())


def test_training_imports_what_it_needs(tmp_path):
    rows = ["organism\tlabel\tsequence"]
    for i in range(60):
        tail = "".join("ACGT"[i // 4**k % 4] for k in range(3))
        rows.append(f"{('worm', 'fly')[i % 2]}\t{1 if i % 3 else -1}\tGA{'AC'[i % 3 == 0]}T{tail}")
    (tmp_path / "data.tsv").write_text("\n".join(rows) + "\n")
    code = (
        "import sys\n"
        "from seqmtl.cli.main import main\n"
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


def test_every_kernel_module_is_known_to_the_type_checker():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    untyped = settings["tool"]["mypy"]["overrides"][1]["module"]
    found = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in KERNELS]
    assert untyped == found


def test_no_path_of_one_machine():
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"[\"'](/home/|/root/|/Users/|/work/|C:\\\\)", text), path
