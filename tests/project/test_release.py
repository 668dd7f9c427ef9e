"""What is released: its files say what the project says, and the sources build as they are."""

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import seqmtl

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
ADDRESS = PROJECT["urls"]["Repository"]
CONDA = {"matplotlib": "matplotlib-base"}  # names that differ in conda-forge


def _text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def _requirements(texts):
    """Return requirements as conda writes them: a name, a space and the versions."""
    found = map(Requirement, texts)
    return {f"{CONDA.get(each.name, each.name)} {each.specifier}" for each in found}


def _listed(name, start, end):
    """Return the items of a YAML list between two lines."""
    part = _text(name).split(f"{start}\n")[1].split(f"{end}\n")[0]
    return set(re.findall(r"^ +- (\S+ \S+)$", part, flags=re.MULTILINE))


def test_conda_asks_for_what_the_project_asks_for():
    extras = PROJECT["optional-dependencies"]
    optional = [*extras["plots"], *(each for each in extras["genome"] if "deflate" not in each)]
    python = f"python {PROJECT['requires-python']}"
    wanted = _requirements([*PROJECT["dependencies"], *optional]) | {python}
    recipe = "recipes/seqmtl/meta.yaml"
    assert _listed(recipe, "  run:", "test:") == wanted
    assert _listed("environment.yml", "dependencies:", "  - pip") == wanted
    building = _requirements(SETTINGS["build-system"]["requires"])
    assert _listed(recipe, "  host:", "  run:") == building | {python}
    assert f"summary: {PROJECT['description']}\n" in _text(recipe)


def test_there_is_one_address_and_one_list_of_authors():
    cited = _text("CITATION.cff")
    assert f'repository-code: "{ADDRESS}"\n' in cited
    authors = cited.split("authors:\n")[1].split("keywords:")[0]
    assert re.findall(r'- name: "(.*)"', authors) == [each["name"] for each in PROJECT["authors"]]
    assert (
        re.findall(r"^  - (.*)", cited.split("keywords:")[1].split("references:")[0], re.M)
        == PROJECT["keywords"]
    )
    assert f"license: {PROJECT['license']}\n" in cited
    assert all(url.startswith(ADDRESS) for url in PROJECT["urls"].values())
    recipe = _text("recipes/seqmtl/meta.yaml")
    assert re.findall(r"(?:home|dev_url): (.*)", recipe) == [ADDRESS, ADDRESS]


def test_papers_have_one_doi_wherever_they_are_cited():
    entries = _text("paper/paper.bib").split("\n@")
    titles = {
        found[1]: re.sub(r"[{}]", "", re.search(r"title = \{(.*)\}", entry)[1]).lower()
        for entry in entries
        if (found := re.search(r"doi = \{(.*)\}", entry))
    }
    assert all(re.fullmatch(r"10\.\d{4,}/\S+", doi) for doi in titles)
    cited = _text("CITATION.cff").split("references:")[1].split("  - type:")[1:]
    dois = [re.search(r"doi: (.*)", paper)[1] for paper in cited]
    assert [re.search(r'title: "(.*)"', paper)[1].lower() for paper in cited] == [
        titles[doi] for doi in dois
    ]
    assert (
        re.findall(r'type="doi">(.*?)<', _text("examples/pipelines/galaxy/macros.xml")) == dois[1:]
    )


def test_links_of_the_readme_work_where_it_is_shown_alone():
    shown = _text("README.md")
    settings = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert settings["fragments"] == [{"path": "README.md"}]
    shown += "\n![a figure](docs/a.png) and [a\nplace](#python) and [a site](https://a.org/b)"
    for rule in settings["substitutions"]:
        shown = re.sub(rule["pattern"], rule["replacement"], shown)
    links = re.findall(r"\]\(([^)]*)\)", shown)
    assert len(links) > 20
    assert f"{ADDRESS}/raw/main/docs/a.png" in links
    assert {"#python", "https://a.org/b"} <= {*links}
    files = [link.removeprefix(f"{ADDRESS}/blob/main/") for link in links if "/blob/" in link]
    assert all((ROOT / name.partition("#")[0]).exists() for name in files)
    assert all(link.startswith(("https://", "#")) for link in links)


def _newest():
    """The version of the newest changes."""
    found = re.search(r"^## \[?(\d+\.\d+\.\d+)", _text("CHANGELOG.md"), flags=re.MULTILINE)
    return found[1]


def test_the_newest_changes_are_those_of_the_version():
    newest, own = Version(_newest()), Version(seqmtl.__version__)
    assert newest == own or (own.is_prerelease and own < newest)


def test_pipelines_and_the_recipe_are_of_the_newest_version():
    asked = re.compile(r'(?:seqmtl(?::| ?=)|@TOOL_VERSION@">|set version = ")(\d[\w.]*)')
    found = {
        path: asked.findall(path.read_text(encoding="utf-8"))
        for folder in ("examples/pipelines", "recipes")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".nf", ".xml", ".yml", ".yaml"}
    }
    assert {version for versions in found.values() for version in versions} == {_newest()}
    naming = ("main.nf", "environment.yml", "seqmtl.yaml", "config.yaml", "macros.xml", "meta.yaml")
    for path, versions in found.items():
        assert bool(versions) == (path.name in naming and path.parent.name != "nextflow"), path


def test_what_is_not_installed_has_a_version_too():
    code = (
        "import importlib.metadata as m\n"
        "def version(name): raise m.PackageNotFoundError(name)\n"
        "m.version = version\nimport seqmtl; print(seqmtl.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "0.dev0\n"


def test_the_recipe_is_filled_from_the_source_distribution(tmp_path):
    sdist = tmp_path / "seqmtl-1.2.3.tar.gz"
    sdist.write_bytes(b"any")

    def fill(path):
        script = ROOT / "release" / "fill_recipe.py"
        return subprocess.run([sys.executable, script, path], capture_output=True, text=True)

    filled = fill(sdist).stdout
    assert '{% set version = "1.2.3" %}\n' in filled
    assert f'{{% set sha256 = "{hashlib.sha256(b"any").hexdigest()}" %}}\n' in filled
    before = _text("recipes/seqmtl/meta.yaml").splitlines()
    assert sum(a != b for a, b in zip(before, filled.splitlines(), strict=True)) == 2
    assert "no source distribution of seqmtl" in fill(tmp_path / "other-1.tar.gz").stderr


@pytest.mark.parametrize("name", ["Dockerfile", "seqmtl.def"])
def test_containers_have_the_wheel_with_its_extras(name):
    text = _text(name)
    python, extras = (
        re.search(r"python:(\d\.\d+)-slim", text)[1],
        re.search(r"whl\)\[(.*?)\]", text),
    )
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    assert {*extras[1].split(",")} <= PROJECT["optional-dependencies"].keys()
    for command in re.findall(r"seqmtl (annotate|info) ", text):
        assert (ROOT / "seqmtl" / "cli" / f"{command}.py").exists()


def test_a_tag_is_published_without_a_token():
    text = _text(".github/workflows/release.yml")
    jobs = re.split(r"(?m)^  (?=\w+:$)", text.split("\njobs:\n")[1])
    pypi = next(job for job in jobs if job.startswith("pypi:"))
    assert "id-token: write" in pypi
    assert "gh-action-pypi-publish@release" in pypi
    assert "password" not in pypi
    scripts = re.findall(r"(?<=python )release/\w+\.py", text + _text(".ci/run"))
    assert scripts
    assert all((ROOT / script).exists() for script in scripts)


def test_the_sources_have_what_is_released():
    kept = SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    names = (
        "Dockerfile",
        "seqmtl.def",
        "environment.yml",
        ".readthedocs.yaml",
        "recipes",
        "release",
    )
    assert {f"/{name}" for name in names} <= {*kept}
    assert all((ROOT / name).exists() for name in names)
