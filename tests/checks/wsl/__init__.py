"""Tests of the checks in checks/wsl."""
