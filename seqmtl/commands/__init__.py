"""The commands: one file each, with its options, its help, what it does and the Python function."""
