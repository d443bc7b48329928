"""Tests of the checks in checks/device."""
