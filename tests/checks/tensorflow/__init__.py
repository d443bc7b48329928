"""Tests of the checks in checks/tensorflow."""
