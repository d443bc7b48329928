"""Tests of the checks in checks/host."""
