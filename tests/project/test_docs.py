"""Code in the documents runs, and what they name exists."""

import ast
import gzip
import importlib
import pydoc
import random
import re
import shlex
from pathlib import Path

import pytest
import tutorial_pages

from seqmtl.commands._parser import Parser
from seqmtl.commands.main import command_named
from seqmtl.exceptions import UsageError
from tests.invocation import write_vcf

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    *(p for p in sorted(DOCS.rglob("*.md")) if p.relative_to(DOCS).parts[0] != "reference"),
]
TUTORIALS = [path for path in PAGES if path.parent.name == "tutorials" and path.stem != "index"]


def _fences(path, *languages):
    fence = re.compile(r"^```([^\n]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    blocks = fence.findall(path.read_text(encoding="utf-8"))
    return [code for language, code in blocks if language in languages]


def _commands(path):
    """Return the words of every call of seqmtl in the blocks of a page."""
    for code in _fences(path, "", "sh", "text"):
        code = re.sub(r"\$\w+", "donor", code.replace("\\\n", " "))  # the loops of one page
        for part in re.split(r"\n|&&", code):
            if part.strip().startswith("seqmtl "):
                words = re.split(r"\s[|>]", part)[0]
                yield shlex.split(words, comments=True)[1:]


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


def test_pictures_of_the_gallery_are_those_of_the_tutorials():
    gallery = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    pictures = tutorial_pages.PICTURE.findall(gallery)
    assert len(pictures) == 8
    for picture in pictures:
        name, _, file = picture.partition("/")
        tutorial = (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
        assert file in tutorial_pages.PICTURE.findall(tutorial), picture


def test_the_first_commands_of_the_readme_run(tmp_path, monkeypatch, seqmtl):
    commands = [words for words in _commands(README) if words[1].startswith("starter:")]
    assert len(commands) == 4
    letters = "".join(random.Random(0).choices("ACGT", k=3000))
    letters = f"{letters[:1000]}GT{letters[1002:1197]}AG{letters[1199:]}"
    (tmp_path / "genome.fa.gz").write_bytes(gzip.compress(f">c\n{letters}\n".encode()))
    exons = [f"c\tx\texon\t{ends}\t.\t+\t.\tParent=t" for ends in ("900\t1000", "1200\t1300")]
    (tmp_path / "genes.gff3").write_text("\n".join(exons) + "\n")
    alternative = "C" if letters[999] != "C" else "A"
    write_vcf(tmp_path / "variants.vcf", [("c", 999, letters[999], alternative)])
    monkeypatch.chdir(tmp_path)
    for words in commands:
        seqmtl([*words, "-q"])
    assert "SeqMTL_annotated_exon=" in Path("effects.vcf").read_text()
    assert "intron_probability=" in Path("judged/genes.gff3").read_text()
    rows = Path("donors.bed").read_text().splitlines()
    assert sum(not row.startswith("#") for row in rows) > 100
    assert "\n#contig\tstart\tend\t" in Path("introns.bed").read_text()


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, seqmtl):
    (code,) = _fences(README, "python")
    monkeypatch.chdir(tmp_path)
    Path("tree.nwk").write_text("(ant:1,bee:1);")
    seqmtl("simulate --tree tree.nwk --chromosome-length 60000 -q -o sim")
    config = Path("sim/dataset.toml")
    few = "\nwindow = 41\n[decoys]\nratio = 2\n\n"
    config.write_text(config.read_text().replace("\n\n", few, 1))
    seqmtl("dataset sim/dataset.toml -q -o donors")
    exec(code, {})
    assert Path("splice.seqmtl").exists()


def test_commands_of_the_documents_parse():
    for path in PAGES:
        for name, *words in _commands(path):
            if name in ("help", "--version"):
                continue
            try:
                Parser(command_named(name)).values(words)
            except UsageError as error:
                pytest.fail(f"{path}: seqmtl {name}: {error}")


def test_what_the_documents_import_exists():
    for code in (code for path in PAGES for code in _fences(path, "python")):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("seqmtl"):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), code


def test_files_and_tests_that_the_documents_name_exist():
    named = re.compile(r"(?:benchmarks|examples|taxonomies|docs|tests)/[\w./-]*\w(?![\w<])")
    for path in PAGES:
        missing = [
            name
            for name in named.findall(path.read_text(encoding="utf-8"))
            if not (ROOT / name).exists() and "reference/" not in name
        ]
        assert not missing, path
    code = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/test_*.py"))
    errata = re.findall(r"`(test_\w+)`", (DOCS / "papers.md").read_text(encoding="utf-8"))
    assert errata
    assert not [name for name in errata if f"def {name}(" not in code]


def test_algorithms_are_where_the_page_says():
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    places = re.findall(r"`(seqmtl[\w.]+)`", page)
    assert len(places) > 20
    for place in places:
        assert pydoc.locate(place) is not None, place
