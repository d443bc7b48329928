"""Writes gpudoctor/knowledge/release_dates.toml: when each minor release of the packages in it came out, from PyPI.

    python scripts/release_dates.py [PACKAGE ...]

The packages are those of the table and those that are named. One of which PyPI does not answer stays as it is.
"""

import datetime
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402 - what follows needs the path above
from packaging.version import InvalidVersion, Version  # noqa: E402

from gpudoctor.knowledge.release_dates import release_dates  # noqa: E402
from scripts.refresh_tables import fetch  # noqa: E402
from scripts.refreshing.pypi import ADDRESS  # noqa: E402

TABLE = ROOT / "gpudoctor" / "knowledge" / "release_dates.toml"
# What is older stands in no environment that somebody sets up for a GPU today.
SINCE = "2022"
_FEW = 4
_WIDTH = 110


class _File(msgspec.Struct):
    upload_time: str


class _Project(msgspec.Struct):
    releases: dict[str, list[_File]]


def minors(answer: bytes) -> str:
    """The minor releases of a project with the days on which they came out: "1.18 2025-05-12, 1.19 2025-08-27".

    Where there are hardly any, as in projects that count 0.0.33, each release stands for itself.
    """
    whole = _first_days(answer, 2)
    found = whole if len(whole) >= _FEW else _first_days(answer, 3)
    return ", ".join(f"{'.'.join(map(str, key))} {day}" for key, day in sorted(found.items()))


def _first_days(answer: bytes, parts: int) -> dict[tuple[int, ...], str]:
    """The day of the first file of each release, by the first numbers of its version."""
    found: dict[tuple[int, ...], str] = {}
    for number, files in msgspec.json.decode(answer, type=_Project).releases.items():
        try:
            version = Version(number)
        except InvalidVersion:
            continue
        if files and not version.is_prerelease:
            key = (version.major, version.minor, version.micro)[:parts]
            found[key] = min(found.get(key, "9999"), *(file.upload_time[:10] for file in files))
    return {key: day for key, day in found.items() if day >= SINCE}


def wrapped(text: str) -> str:
    """A string of TOML; a long one in lines, each of which ends with a backslash that takes the line's end away."""
    if len(text) < _WIDTH:
        return f'"{text}"'
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return '"""\\\n  ' + " \\\n  ".join(lines) + '"""'


def written(rows: dict[str, str], today: datetime.date) -> str:
    """The text of the table."""
    lines = "\n".join(f"{name} = {wrapped(rows[name])}" for name in sorted(rows))
    return f"""\
# When the minor releases of packages came out, since {SINCE}: of two packages that do not fit, the older one is
# the one to upgrade. Written by scripts/release_dates.py.

[meta]
collected = "{today}"
confidence = "high"

[[source]]
id = "pypi"
what = "upload_time of the first file of each minor release, by the JSON API"
url = "https://docs.pypi.org/api/json/"
date = "{today}"

# "MINOR DAY, ..."
[released]
{lines}
"""


def main(names: Iterable[str]) -> int:
    """Ask PyPI and write the table; gives the exit code."""
    rows, failed = dict(release_dates().released) if TABLE.exists() else {}, 0
    for name in sorted({*rows, *names}):
        try:
            rows[name] = minors(fetch(ADDRESS.format(name=name)))
        except (OSError, msgspec.MsgspecError) as error:
            sys.stderr.write(f"{name}: {error}\n")
            failed = 3
    TABLE.write_text(written(rows, datetime.datetime.now(datetime.UTC).date()), encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
