"""Tests of the checks in checks/llamacpp."""
