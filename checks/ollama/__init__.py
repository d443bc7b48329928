"""Checks of Ollama: whether it brings a library for the GPUs that are here."""
