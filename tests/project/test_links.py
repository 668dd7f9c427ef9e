"""Links in the documents lead somewhere."""

import re

import reference_pages

from tests.project import links

PICTURES = "docs/tutorials/pictures/"  # which a build draws


def test_links_within_the_repository_lead_to_files_and_headings():
    made = {f"docs/reference/{name}" for name in reference_pages.pages()}
    broken = []
    for path in links.documents():
        for target in links.links(path):
            if re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            place = (path.parent / name).resolve() if name else path
            shown = place.relative_to(links.ROOT).as_posix()
            if shown in made or shown.startswith(PICTURES):
                continue
            if not place.exists() or (anchor and anchor not in links.anchors(place)):
                broken.append(f"{path.relative_to(links.ROOT)}: {target}")
    assert not broken, "\n".join(broken)


def test_links_that_leave_the_repository_are_encrypted():
    found = links.external()
    assert len(found) > 5
    assert all(link.startswith("https://") for link in found), found


def test_headings_are_named_as_by_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A, b: `c_d`\n\n## [What](x.md) is 1.5?\n\n```\n# no\n```\n\n## A b\n\n## A b\n"
    )
    assert links.anchors(page) == {"a-b-c_d", "what-is-15", "a-b", "a-b-1"}
    page.write_text("[a](b.md#c) `[d](e)` [`f`](g.md) <https://h.i>\n\n```\n[j](k)\n```\n")
    assert list(links.links(page)) == ["b.md#c", "g.md", "https://h.i"]
