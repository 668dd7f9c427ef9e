"""Run ``seqmtl`` as ``python -m seqmtl``."""

from seqmtl.commands.main import run

if __name__ == "__main__":
    run()
