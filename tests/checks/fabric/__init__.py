"""Tests of the checks in checks/fabric."""
