"""Reads the first digits of a Parquet or an Arrow file with the pyarrow of this interpreter: `PYTHON FILE PATH COUNT`.

It prints one JSON object: `images` (base64 of PNG files), `labels`, and `sum`, the SHA-256 of all labels as an IDX file
has them, which shows whose they are; or `error`, a sentence.
"""

from __future__ import annotations

import sys

# Python puts this folder first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import base64
import hashlib
import importlib
import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 1 << 13  # bytes of an image; MNIST's take 300
MOST = 1000000  # rows; MNIST has 60,000


def main(path: str, count: int) -> dict[str, Any]:
    """Read, and return what is to be printed."""
    with open(path, "rb") as file:
        parquet = file.read(4) == b"PAR1"
    try:
        importlib.import_module("pyarrow")
    except ImportError as error:
        return {"error": "it takes pyarrow, which this Python does not have (%s)" % error}
    try:
        images, labels = (_parquet if parquet else _arrow)(path, count)
    except Exception as error:
        return {"error": "pyarrow cannot read it (%s)" % (str(error).strip().split("\n")[0] or type(error).__name__)}
    if not all(isinstance(label, int) and 0 <= label < 256 for label in labels):
        return {"error": "its labels are not small numbers"}
    data: list[Any] = [image.get("bytes") if isinstance(image, dict) else image for image in images]
    if not all(isinstance(image, bytes) and len(image) <= LONGEST for image in data):
        return {"error": "its images are not kept as small files"}
    whole = struct.pack(">II", 0x801, len(labels)) + bytes(labels)
    return {
        "images": [base64.b64encode(image).decode() for image in data],
        "labels": labels[:count],
        "sum": hashlib.sha256(whole).hexdigest(),
    }


def _parquet(path: str, count: int) -> tuple[list[Any], list[Any]]:
    file = importlib.import_module("pyarrow.parquet").ParquetFile(path, memory_map=True)
    if file.metadata.num_rows > MOST:
        raise ValueError("it has %d rows" % file.metadata.num_rows)
    labels = file.read(columns=["label"]).column("label").to_pylist()
    images: list[Any] = []
    for batch in file.iter_batches(batch_size=count, columns=["image"]):
        images += batch.column(0).to_pylist()
        if len(images) >= count:
            break
    return images[:count], labels


def _arrow(path: str, count: int) -> tuple[list[Any], list[Any]]:
    arrow = importlib.import_module("pyarrow")
    images: list[Any] = []
    labels: list[Any] = []
    with arrow.memory_map(path) as source:
        for batch in _batches(arrow, source):
            images += batch.slice(0, count - len(images)).column("image").to_pylist()
            labels += batch.column("label").to_pylist()
            if len(labels) > MOST:
                raise ValueError("it has more than %d rows" % MOST)
    return images, labels


def _batches(arrow: Any, source: Any) -> Any:
    """The batches of a stream, as Hugging Face writes it, or of a file."""
    ipc = importlib.import_module("pyarrow.ipc")
    try:
        return ipc.open_stream(source)
    except arrow.ArrowInvalid:
        reader = ipc.open_file(source)
        return (reader.get_batch(at) for at in range(reader.num_record_batches))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
