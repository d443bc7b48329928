"""Tests of the checks in checks/link."""
