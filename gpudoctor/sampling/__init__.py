"""Figures of the GPUs over time: the child that samples them, its lines, and what is kept of them."""
