"""Tests of the checks in checks/cloud."""
