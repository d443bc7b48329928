"""Scripts that run inside the examined interpreter: standard library only, Python 3.8 and newer."""
