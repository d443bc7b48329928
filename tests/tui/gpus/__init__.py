"""The place "gpus"."""
