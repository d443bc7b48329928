"""One file a backend: how a framework, the bare driver or NumPy does what the tests ask of a device."""
