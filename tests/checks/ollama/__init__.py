"""Tests of the checks in checks/ollama."""
