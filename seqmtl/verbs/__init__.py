"""What seqmtl does: a module a verb, each with its request and its Python function."""
