"""Checks of the smoke tests' results: right or wrong numbers, speeds, and tests that did not finish."""
