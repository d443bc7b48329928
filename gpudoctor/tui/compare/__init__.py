"""This machine beside another."""
