"""Texts with a form that checks compute with: anything else is no fact, wherever it comes from."""

from typing import Annotated

from msgspec import Meta

# How the reason ends why a fact is unknown of a file system under another root: nothing of it is run.
ANOTHER_ROOT = "under another root"

Capability = Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.[0-9]{1,2}$")]  # compute capability, "8.6"
Release = Annotated[str, Meta(pattern=r"^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,5})?$")]  # CUDA release, "12.4"
