"""Readers of file formats and of commands' output: bytes or text in, values out, nothing else touched."""
