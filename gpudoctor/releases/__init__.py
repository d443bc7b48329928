"""Finds the release of a package that has a name: of its packages on the index, unpacked and read, never run."""
