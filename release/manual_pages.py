"""Make the manual pages of the wheel from the parsers: one of seqmtl, one of each command."""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from argparse_manpage.manpage import Manpage
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface):
    """Add the pages to share/man/man1 of the environment in which the wheel is installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages; an editable installation gets none."""
        if version == "editable":
            return
        self.folder = TemporaryDirectory()
        for name, text in pages(self.root, self.metadata.version).items():
            path = Path(self.folder.name, name)
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = f"share/man/man1/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written."""
        if version != "editable":
            self.folder.cleanup()


def pages(root: str, version: str) -> dict[str, str]:
    """Return the text of every page by the name of its file."""
    sys.path.insert(0, root)
    try:
        from seqmtl.cli.main import build_parser, parsers_of
    finally:
        sys.path.remove(root)
    parser = build_parser()
    found = {}
    for each in (parser, *parsers_of(parser).values()):
        name = each.prog.replace(" ", "-")
        notes = (each.epilog or "").replace("\\", "\\\\").replace("-", "\\-")
        notes = re.sub(r"(?m)^(?=[.'])", r"\\&", notes)
        about = {"project_name": "seqmtl", "version": version, "manual_title": "seqmtl"}
        summary = re.split(r"[:.]\s", " ".join((each.description or "").split()))[0]
        each.epilog = None
        page = Manpage(each, {**about, "description": summary})
        page.prog = name
        page.add_section("examples and notes", ">", f".nf\n{notes}\n.fi")
        found[f"{name}.1"] = str(page)
    return found
