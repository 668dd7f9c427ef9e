"""``python -m seqmtl`` is ``seqmtl``."""

from seqmtl.cli.main import run

if __name__ == "__main__":
    run()
