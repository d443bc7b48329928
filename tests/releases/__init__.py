"""The search for the release of a package that has a name."""
