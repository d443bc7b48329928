"""The report: what a person or a machine is told, one file a format."""
