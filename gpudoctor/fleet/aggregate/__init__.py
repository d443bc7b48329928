"""Sums up the reports of many machines, in memory that does not grow with what they said."""
