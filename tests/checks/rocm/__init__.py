"""Tests of the checks in checks/rocm."""
