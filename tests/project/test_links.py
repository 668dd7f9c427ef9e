"""Links between the documents lead to files and headings."""

import re
import subprocess
from pathlib import Path

import reference_pages

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)


def _documents():
    """Return the Markdown files of the repository, or of the tree where there is no git."""
    done = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = done.stdout.split() if done.returncode == 0 else []
    paths = [ROOT / name for name in names] or ROOT.rglob("*.md")
    return sorted(path for path in paths if path.is_file())


def _without_blocks(path):
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def _anchors(path):
    """Return the names of a document's headings, as GitHub and the site make them."""
    names = []
    for heading in HEADING.findall(_without_blocks(path)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        names.append(re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-"))
    repeated = (f"{name}-{i}" for name in {*names} for i in range(1, names.count(name)))
    return {*names, *repeated}


def test_links_between_documents_lead_to_files_and_headings():
    made = {f"docs/reference/{name}" for name in reference_pages.pages()}
    pictures = "docs/tutorials/pictures/"  # which the tutorials draw
    broken = []
    for path in _documents():
        for target in LINK.findall(re.sub(r"`[^`\n]*`", "", _without_blocks(path))):
            if re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            place = (path.parent / name).resolve() if name else path
            shown = place.relative_to(ROOT).as_posix()
            if shown in made or shown.startswith(pictures):
                continue
            if not place.exists() or (anchor and anchor not in _anchors(place)):
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken, "\n".join(broken)
