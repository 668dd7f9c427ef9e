"""All file access: streams, numbered lines, atomic files and folders."""
