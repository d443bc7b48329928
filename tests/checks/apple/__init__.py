"""Tests of the checks in checks/apple."""
