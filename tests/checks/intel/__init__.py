"""Tests of the checks in checks/intel."""
