"""Tests of the checks in checks/packages."""
