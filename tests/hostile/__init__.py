"""What strangers and broken machines hand in: mutated files of every kind, and what may never come of them."""
