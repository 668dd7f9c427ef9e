"""Every equation of the papers that the package implements has a test that says so."""

import re

from paper_equations import PAPERS, PLACE, ROOT, find_checks, table

# those left out are general theory: 2012, 19 and 20; 2015, 27 to 32; 2014, 26 to 39
NUMBERED = {"Sheldon 2008": 5, "Widmer 2012": 18, "Li 2014": 25, "Widmer 2015": 26}
ALSO = {
    "Sheldon 2008": ["Proposition 1"],
    "Widmer 2012": ["Algorithm 1", "Theorem 1"],
    "Li 2014": [
        "Algorithm 1",
        "Algorithm 2",
        "Lemma 1",
        "Lemmas 2, 3, 4",
        "Theorem 1",
        "Theorem 2",
        "Theorem 3",
        "Proposition 1",
        "Tang",
        "Sparse",
        "Minimax",
        "baseline",
    ],
    "Widmer 2015": [
        "Problem 1",
        "Problem 2",
        "Problem 3",
        "Table 1",
        "Lemma 11",
        "Algorithm 1",
        "Algorithm 2",
        "2.5.2",
        "2.5.3",
        "2.6.1",
        "2.6.2",
        "2.6.3",
        "3.2.4",
    ],
}


def test_every_equation_has_its_test():
    checks = list(find_checks())
    for paper in PAPERS:
        own = [check for check in checks if check.paper == paper]
        found = set().union(*(check.equations for check in own))
        assert found == set(range(1, NUMBERED[paper] + 1)), paper
        places = "; ".join(check.place for check in own)
        assert [part for part in ALSO[paper] if part not in places] == [], paper


def test_the_page_lists_the_tests():
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert PLACE in page
    rows = table().splitlines()
    assert len(rows) == 2 + sum(1 for _ in find_checks())
    names = {row.split("`")[1] for row in rows[2:]}
    assert len(names) > 60
    errata = set(re.findall(r"`(test_\w+)`", page))
    assert len(errata) > 10
    assert errata <= {name.split("::")[-1] for name in names}
    for name in names:
        path, *_, test = name.split("::")
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), name
