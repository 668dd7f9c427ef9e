"""Writers of the sites of a scan, one module a format."""
