"""Tests of the checks in checks/security."""
