"""Tests of the checks in checks/smoke."""
