"""Tests of the checks in checks/libraries."""
