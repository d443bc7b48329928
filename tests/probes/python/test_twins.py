"""Of two records of one distribution the files tell which is right."""

import pytest

from gpudoctor.probes.python.duplicates import sorted_out
from gpudoctor.probes.python.packages import DirectoryNames, entries, find
from gpudoctor.recorded_machine import RecordedMachine

SITE = "/env/lib/python3.11/site-packages"
CODE = {"torch/__init__.py": "x", "torch/version.py": "__version__ = '2.7.1+cu126'\n"}
ROWS = "".join(f"torch/{name}.py,sha256=a,{size}\n" for name, size in (("__init__", 1), ("version", 28)))


def record(version: str, rows: str, own: bool = True, **changes: str | None) -> dict[str, str]:
    place = f"torch-{version}.dist-info"
    files = {"METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n", "INSTALLER": "pip\n"}
    files["RECORD"] = rows + (f"{place}/RECORD,,\n" if own else "")
    return {f"{place}/{name}": text for name, text in (files | changes).items() if text is not None}


def look(*records: dict[str, str]) -> tuple[list[str], list[tuple[str, str | None, str]]]:
    files = {f"{SITE}/{path}": text for part in (CODE, *records) for path, text in part.items()}
    machine = RecordedMachine(files)
    found = find(machine, entries(machine, [SITE], "", None, [SITE]), DirectoryNames(machine))
    kept, left = sorted_out(machine, found)
    return [each.package.version for each in kept], [(r.path.rpartition("/")[2], r.version, r.reason) for r in left]


STALE = [("torch-2.6.0.dist-info", "2.6.0", "other release")]
RIGHT = record("2.7.1", ROWS)


@pytest.mark.parametrize(
    ("records", "kept", "left"),
    [
        ((RIGHT,), ["2.7.1"], []),
        # The files have other sizes than the former release's.
        ((record("2.6.0", ROWS.replace(",28", ",31")), RIGHT), ["2.7.1"], STALE),
        # A copy of the record, in which the paths are another record's.
        ((record("2.6.0", ROWS + "torch-2.7.1.dist-info/RECORD,,\n", own=False), RIGHT), ["2.7.1"], STALE),
        # Without sizes, or without any RECORD, the module's own version decides.
        ((record("2.6.0", ""), record("2.7.1", "")), ["2.7.1"], STALE),
        ((record("2.6.0", "", RECORD=None), record("2.7.1", "", RECORD=None)), ["2.7.1"], STALE),
        # The files fit neither.
        ((record("2.5.0", ""), record("2.6.0", "")), ["2.5.0", "2.6.0"], []),
    ],
)
def test_the_files_decide(
    records: tuple[dict[str, str], ...], kept: list[str], left: list[tuple[str, str | None, str]]
) -> None:
    assert look(*records) == (kept, left)


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({}, ()),
        ({"METADATA": None}, ("METADATA",)),
        ({"METADATA": ""}, ("METADATA",)),
        ({"RECORD": None}, ("RECORD",)),
        ({"RECORD": ""}, ()),
        ({"METADATA": None, "RECORD": None}, ("METADATA", "RECORD")),
        # Distributions and conda leave RECORD out.
        ({"RECORD": None, "INSTALLER": "conda\n"}, ()),
        ({"RECORD": None, "INSTALLER": None}, ()),
    ],
)
def test_metadata_that_is_lost(changes: dict[str, str | None], lost: tuple[str, ...]) -> None:
    machine = RecordedMachine({f"{SITE}/{path}": text for path, text in record("2.7.1", ROWS, True, **changes).items()})
    (found,) = find(machine, entries(machine, [SITE], "", None, [SITE]), DirectoryNames(machine))
    assert found.package.version == "2.7.1"
    assert found.package.lost == lost
