"""One file a format of the report."""
