"""Holds the tables of gpudoctor/knowledge against their public sources, and shows what has changed.

    python scripts/refresh_tables.py [--only pypi|drivers|pci_ids ...] [--write]

It prints one line for each difference, and exits with 0 where there is none, 1 where there are some, 3 where a source
did not answer. With --write what a machine may write is written; a table that would then not fit its type any more
stays as it is. What needs a person's reading is only shown. Look at `git diff`, and run the tests.
"""

import argparse
import datetime
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402 - what follows needs the path above

from gpudoctor.knowledge import cupy, jax, newest, onnxruntime, tensorflow, torch  # noqa: E402
from gpudoctor.knowledge import drivers as driver_tables  # noqa: E402
from scripts.refreshing import drivers, pci, pypi  # noqa: E402
from scripts.refreshing.difference import Difference, Fetch  # noqa: E402
from scripts.refreshing.writing import written  # noqa: E402

TABLES = ROOT / "gpudoctor" / "knowledge"
SECONDS = 30
LARGEST = 64 << 20  # bytes that are read of an answer; PyPI's longest have some 10 MiB
SOURCES: dict[str, Callable[[Fetch], Iterator[Difference]]] = {
    "pypi": pypi.differences,
    "drivers": drivers.differences,
    "pci_ids": pci.differences,
}
# The types of the tables that can be written.
KINDS = {
    "newest": newest.Newest,
    "torch": torch.TorchTable,
    "tensorflow": tensorflow.Tensorflow,
    "jax": jax.JaxTable,
    "cupy": cupy.Cupy,
    "onnxruntime": onnxruntime.Onnxruntime,
    "drivers": driver_tables.Drivers,
}


def fetch(address: str) -> bytes:
    """What lies at an address.

    Raises:
        OSError: it does not answer, or not in time.
    """
    asked = urllib.request.Request(address, headers={"User-Agent": "gpudoctor refresh_tables"})  # noqa: S310 - https
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:  # noqa: S310
        return bytes(answer.read(LARGEST))


def write(found: Iterable[Difference], folder: Path, today: datetime.date) -> Iterator[str]:
    """Write what a machine may write; gives a line for each table."""
    tables: dict[str, list[Difference]] = {}
    for one in found:
        if one.by_hand is None:
            tables.setdefault(one.table, []).append(one)
    for name, changes in tables.items():
        path = folder / f"{name}.toml"
        text = written(path.read_text(encoding="utf-8"), changes, today)
        try:
            msgspec.toml.decode(text, type=KINDS[name], strict=False)
        except msgspec.ValidationError as error:
            yield f"{path.name} stays as it is: {error}"
            continue
        path.write_text(text, encoding="utf-8")
        yield f"{path.name} written: {len(changes)} changes"


def main(words: list[str] | None = None, get: Fetch = fetch, folder: Path = TABLES) -> int:
    """Compare, print, and write where that is asked for; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SOURCES, action="append")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(words)
    found: list[Difference] = []
    silent = False
    for name in given.only or SOURCES:
        try:
            found += SOURCES[name](get)
        except OSError as error:
            silent = True
            sys.stderr.write(f"{name}: {error}\n")
    found = list({str(one): one for one in found}.values())  # one project may stand for two frameworks
    sys.stdout.writelines(f"{one}\n" for one in found)
    if given.write:
        sys.stdout.writelines(
            f"{line}\n" for line in write(found, folder, datetime.datetime.now(datetime.timezone.utc).date())
        )
    return 3 if silent else int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
