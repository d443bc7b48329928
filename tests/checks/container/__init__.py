"""Tests of the checks in checks/container."""
