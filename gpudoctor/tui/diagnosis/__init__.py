"""What is wrong, why, and what to type."""
