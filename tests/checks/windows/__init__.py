"""Tests of the checks in checks/windows."""
