"""Tests with real frameworks in environments of their own; they run where `-m realenv` asks for them."""
