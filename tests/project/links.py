"""Links in the documents: ``python tests/project/links.py`` lists those that leave the repository.

No network is needed: links within the repository are checked by ``test_links.py``; the others are
listed with the documents that have them, for whoever wants to try them.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)|<(https?://[^>\s]+)>")
FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)


def documents() -> list[Path]:
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


def prose(path: Path) -> str:
    """Return a document without its blocks and pieces of code."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`", "", text)


def links(path: Path) -> Iterator[str]:
    """Yield the targets of a document."""
    for inline, bare in LINK.findall(prose(path)):
        yield inline or bare


def anchors(path: Path) -> set[str]:
    """Return the names of a document's headings, as GitHub and the site make them."""
    found: set[str] = set()
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for heading in HEADING.findall(text):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        number = sum(
            re.fullmatch(rf"{re.escape(slug)}(-\d+)?", other) is not None for other in found
        )
        found.add(f"{slug}-{number}" if number else slug)
    return found


def external() -> dict[str, list[str]]:
    """Return the documents of every link that leaves the repository."""
    found = defaultdict(list)
    for path in documents():
        for target in links(path):
            if "://" in target:
                found[target].append(path.relative_to(ROOT).as_posix())
    return dict(sorted(found.items()))


if __name__ == "__main__":
    for link, places in external().items():
        print(link, *sorted(set(places)), sep="\t")
