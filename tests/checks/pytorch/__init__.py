"""Tests of the checks in checks/pytorch."""
