"""The only room that opens files: streams, numbered lines, whole files and folders, journals."""
