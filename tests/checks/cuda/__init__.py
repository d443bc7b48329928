"""Tests of the checks in checks/cuda."""
