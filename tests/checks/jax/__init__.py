"""Tests of the checks in checks/jax."""
