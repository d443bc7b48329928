"""Multi-Instance GPU."""
