"""Fill the Bioconda recipe with the version and the checksum of a source distribution.

python -m build && python release/fill_recipe.py dist/seqmtl-*.tar.gz > meta.yaml
"""

import argparse
import hashlib
import re
import sys
from pathlib import Path

RECIPE = Path(__file__).resolve().parents[1] / "recipes" / "seqmtl" / "meta.yaml"


def filled(recipe: str, sdist: Path) -> str:
    """Return the recipe of a source distribution."""
    name = re.fullmatch(r"seqmtl-(\d.*)\.tar\.gz", sdist.name)
    if name is None:
        raise SystemExit(f"{sdist}: no source distribution of seqmtl; run python -m build")
    facts = {"version": name[1], "sha256": hashlib.sha256(sdist.read_bytes()).hexdigest()}
    for key, value in facts.items():
        pattern = rf'(?m)^({{% set {key} = )".*"'
        recipe, count = re.subn(pattern, rf'\g<1>"{value}"', recipe)
        if count != 1:
            raise SystemExit(f"{RECIPE}: has {count} lines that set {key}, not one")
    return recipe


def main() -> None:
    """Print the recipe."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sdist", type=Path, help="dist/seqmtl-VERSION.tar.gz")
    sys.stdout.write(filled(RECIPE.read_text(encoding="utf-8"), parser.parse_args().sdist))


if __name__ == "__main__":
    main()
