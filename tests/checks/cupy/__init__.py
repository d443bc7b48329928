"""Tests of the checks in checks/cupy."""
