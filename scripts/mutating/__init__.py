"""Parts of scripts/mutate.py."""
