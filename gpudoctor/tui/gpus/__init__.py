"""Each GPU over time."""
