"""The command line: one file per command, heavy imports only inside the command that needs them."""
