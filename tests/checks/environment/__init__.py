"""Tests of the checks in checks/environment."""
