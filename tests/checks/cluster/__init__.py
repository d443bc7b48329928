"""Tests of the checks in checks/cluster."""
