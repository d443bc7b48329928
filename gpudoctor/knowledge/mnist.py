"""In which files MNIST comes, how one knows them, and where programs leave them."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load

# The formats: IDX files, NumPy's archive, and what Hugging Face (two) and TensorFlow Datasets keep.
Format = Literal["idx", "npz", "parquet", "arrow", "tfrecord"]


class IdxPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """SHA-256 of an IDX file of images, and of that of its labels."""

    images: str
    labels: str


class Npz(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """SHA-256 of Keras's file."""

    sha256: str


class Mnist(KnowledgeTable, frozen=True):
    """The table ``mnist.toml``: sums, and by format the folders and the names."""

    idx: tuple[IdxPair, ...]
    npz: Npz
    usual: dict[Format, tuple[str, ...]]
    below: dict[Format, tuple[str, ...]]
    names: dict[Format, tuple[str, ...]]


@cache
def mnist() -> Mnist:
    """Return the table, read once."""
    return load("mnist", Mnist)


def is_mnist(images: str, labels: str) -> bool:
    """Whether these are the SHA-256 of MNIST's images and of the labels that belong to them."""
    return any(pair.images == images and pair.labels == labels for pair in mnist().idx)


def are_labels(sha256: str) -> bool:
    """Whether this is the SHA-256 of an IDX file of MNIST's labels."""
    return any(pair.labels == sha256 for pair in mnist().idx)
