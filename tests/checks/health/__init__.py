"""Tests of the checks in checks/health."""
