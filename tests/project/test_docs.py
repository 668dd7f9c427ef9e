"""The documents say what the program does: tutorials run, commands parse, names are there."""

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest
import reference_pages
import tutorial_pages

import seqmtl
from seqmtl.cli.main import build_parser, main, parsers_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

MADE = {"reference", "_build"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(p for p in sorted(DOCS.rglob("*.md")) if p.relative_to(DOCS).parts[0] not in MADE),
]
TUTORIALS = [path for path in PAGES if path.parent.name == "tutorials" and path.stem != "index"]


def _fences(path, *languages):
    fence = re.compile(r"^```([^\n]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    found = fence.findall(path.read_text(encoding="utf-8"))
    return [code for language, code in found if language in languages]


def _commands(path):
    """Return the words of every call of seqmtl in the blocks of a page."""
    for code in _fences(path, "", "sh", "text"):
        code = re.sub(r"\$\w+", "donor", code.replace("\\\n", " "))  # the loops of one page
        for part in re.split(r"\n|&&", code):
            if part.strip().startswith("seqmtl "):
                words = re.split(r"\s[|>]", part)[0]
                yield shlex.split(words, comments=True)[1:]


def test_every_command_of_the_documents_is_one():
    parser = build_parser()
    for path in PAGES:
        for words in _commands(path):
            args = parser.parse_args(words)  # exits where it does not parse
            assert args.command == words[0], path


def test_the_documents_show_every_command():
    shown = {words[0] for path in PAGES for words in _commands(path)}
    assert shown >= set(parsers_of(build_parser()))


def test_what_the_documents_import_is_there():
    for code in (code for path in PAGES for code in _fences(path, "python")):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("seqmtl"):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), code


def test_what_the_documents_name_is_there():
    named = re.compile(r"(?:benchmarks|examples|taxonomies|docs|tests)/[\w./-]*\w(?![\w<])")
    folders = [ROOT / "benchmarks", ROOT / "examples" / "paper"]
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        missing = [name for name in named.findall(text) if not (ROOT / name).exists()]
        assert not [name for name in missing if "reference/" not in name], path
        scripts = re.findall(r"`((?:bench_)?\w+\.py)`", text) if path.parent == DOCS else []
        assert all(any((folder / name).exists() for folder in folders) for name in scripts), path


def test_the_tests_that_ci_names_are_there():
    named = re.findall(r"tests/[\w/.]+(?:::\w+)?", (ROOT / ".ci" / "run").read_text())
    assert named
    for path, _, test in (name.partition("::") for name in named):
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), test


def test_names_of_estimators_in_the_documents_are_public():
    text = " ".join(path.read_text(encoding="utf-8") for path in PAGES)
    named = set(re.findall(r"`(\w+(?:Classifier(?:CV)?|SV[CRM]))`", text))
    assert len(named) > 8
    assert named - {"LinearSVC"} <= set(seqmtl.__all__)


def test_the_readme_is_short_and_the_documents_know_no_machine():
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 150
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(?:home|root|Users|work|tmp)/", text), path


def test_every_document_is_in_a_table_of_contents():
    toctree = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    listed = {DOCS / "index"}
    for path in [*PAGES[2:]]:
        for block in toctree.findall(path.read_text(encoding="utf-8")):
            names = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {path.parent / name for name in names}
    assert {path.with_suffix("") for path in PAGES[2:]} <= listed


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_run(path):
    text = path.read_text(encoding="utf-8")
    with tutorial_pages.finished(path.stem, text) as (page, folder):
        pictures = tutorial_pages.PICTURE.findall(text)
        assert pictures
        for picture in pictures:
            assert (folder / picture).read_bytes().startswith(b"\x89PNG")
        assert page.count(tutorial_pages.PRINTED) > 2
        assert str(folder) not in page


def test_a_tutorial_that_fails_says_where(tmp_path):
    assert [
        *tutorial_pages.run_blocks("```sh\necho a\n```\n```python\nprint(2)\n```", tmp_path)
    ] == ["a\n", "2\n"]
    with pytest.raises(RuntimeError, match="exit code 2 of\nseqmtl trian"):
        list(tutorial_pages.run_blocks("```sh\nseqmtl trian\necho on\n```", tmp_path))
    with pytest.raises(RuntimeError, match="exit code 3"):
        list(tutorial_pages.run_blocks("```sh\n(exit 3) | cat\n```", tmp_path))
    with pytest.raises(ZeroDivisionError, match="division"):
        list(tutorial_pages.run_blocks("```python\n1 / 0\n```", tmp_path))


def test_the_reference_has_every_command_with_every_option(capsys):
    pages = reference_pages.pages()
    for name in parsers_of(build_parser()):
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        page = pages[f"commands/{name}.md"]
        options = set(
            re.findall(r"^  (?:-\w[^-]*)?(--[\w-]+)", capsys.readouterr().out, flags=re.MULTILINE)
        )
        assert "--quiet" in options or name == "help"
        assert {option for option in options - {"--help"} if f"{option}" not in page} == set()
        assert f"- [seqmtl {name}]({name}.md)" in pages["commands/index.md"]


def test_the_reference_has_every_public_name():
    pages = reference_pages.pages()
    for name in set(seqmtl.__all__) - {"__version__"}:
        assert re.search(
            rf"^\.\. auto\w+:: seqmtl\.(verbs\.\w+\.)?{name}$", pages["api/seqmtl.md"], re.MULTILINE
        )
    for folder in (ROOT / "seqmtl").iterdir():
        if folder.is_dir() and (folder / "__init__.py").exists():
            room = importlib.import_module(f"seqmtl.{folder.name}")
            assert f"api/{folder.name}.md" in pages or not getattr(room, "__all__", [])
