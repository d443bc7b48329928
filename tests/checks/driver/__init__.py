"""Tests of the checks in checks/driver."""
