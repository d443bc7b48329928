"""Tests of the checks in checks/visibility."""
