"""Try what a new user has: the wheel in an environment of its own, away from the sources.

python .ci/try_wheel.py ENVIRONMENT
"""

import random
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Run commands of the environment; the first that fails ends it."""
    environment = Path(sys.argv[1])
    letters = random.Random(1)
    genome = Path("genome.fa")
    genome.write_text(f">contig\n{''.join(letters.choices('ACGT', k=20_000))}\n", encoding="utf-8")
    for command in (
        "--version",
        "help annotate",
        "info starter:splice",
        "similarity --tree metazoa --organisms human,mouse",
        f"scan starter:donor {genome} --like Diptera --top 20 -o donors.bed",
        f"scan starter:splice {genome} --organism d_melanogaster --format introns -o introns.bed",
    ):
        words = [str(environment / "bin" / "seqmtl"), *command.split()]
        print("$ seqmtl", command, flush=True)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
