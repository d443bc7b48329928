"""The smoke tests as they run in the checked interpreter: one file a test, one a backend, started by worker.py.

Standard library and the tested framework only, Python 3.8 and newer. NumPy is used where the framework needs it anyway.
"""
