"""What is released: its files say what the project says, and the sources build as they are."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.version import Version

import seqmtl

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
ADDRESS = PROJECT["urls"]["Repository"]


def _text(name):
    return (ROOT / name).read_text(encoding="utf-8")


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


def test_what_is_not_installed_has_a_version_too():
    code = (
        "import importlib.metadata as m\n"
        "def version(name): raise m.PackageNotFoundError(name)\n"
        "m.version = version\nimport seqmtl; print(seqmtl.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "0.dev0\n"


def test_the_container_has_the_wheel_with_its_extras():
    text = _text("Dockerfile")
    python, extras = (
        re.search(r"python:(\d\.\d+)-slim", text)[1],
        re.search(r"whl\)\[(.*?)\]", text),
    )
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    assert {*extras[1].split(",")} <= PROJECT["optional-dependencies"].keys()
    for command in re.findall(r"seqmtl (annotate|info) ", text):
        assert (ROOT / "seqmtl" / "cli" / f"{command}.py").exists()
