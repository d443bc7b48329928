"""Tests of the checks in checks/python."""
