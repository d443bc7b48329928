"""Checks of llama.cpp and whisper.cpp, installed by themselves: whether they can use the GPUs that are here."""
