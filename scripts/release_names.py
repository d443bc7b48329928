"""Writes gpudoctor/knowledge/release_names.toml: the public names that packages gained and lost, by minor release.

    python scripts/release_names.py [PACKAGE ...]

The packages are those of the table and those that are named. The wheels of the last release of each minor since 2023
are read, as `pip download` finds them for this Python; nothing of them is run.
"""

import datetime
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402 - what follows needs the path above
from packaging.version import InvalidVersion, Version  # noqa: E402

from gpudoctor.knowledge.release_names import Names, release_names  # noqa: E402
from scripts.refresh_tables import fetch  # noqa: E402
from scripts.refreshing.pypi import ADDRESS  # noqa: E402
from scripts.release_dates import wrapped  # noqa: E402

TABLE = ROOT / "gpudoctor" / "knowledge" / "release_names.toml"
SINCE = "2023"
# A name of the public interface: imported or defined at the top of a module, or listed for a lazy import.
_DEFINED = re.compile(r"^(?:class|def|async def) ([A-Za-z]\w*)|^([A-Za-z]\w*)(?:: [^=\n]+)? = ", re.M)
_IMPORTED = re.compile(r"^\s*from [.\w]+ import (?:\(([^)]*)\)|([^\n(]+))", re.M)
_LISTED = re.compile(r"[\"']([A-Za-z]\w*)[\"']")
_WORD = re.compile(r"(?:\w+ as )?([A-Za-z]\w*)")
_ALL = re.compile(r"^__all__\s*(?::[^=]*)?\+?=\s*[\[(]([^\])]*)", re.M)
_OTHERS = re.compile(r"(?:^|/)(?:tests?|testing|examples?|benchmarks?)(?:/|$)")


class _File(msgspec.Struct):
    upload_time: str


class _Project(msgspec.Struct):
    releases: dict[str, list[_File]]


def releases(answer: bytes) -> dict[tuple[int, int], str]:
    """The newest release of each minor one, with the oldest first."""
    found: dict[tuple[int, int], Version] = {}
    for number, files in msgspec.json.decode(answer, type=_Project).releases.items():
        try:
            version = Version(number)
        except InvalidVersion:
            continue
        minor = (version.major, version.minor)
        if files and not version.is_prerelease and min(file.upload_time for file in files) >= SINCE:
            found[minor] = max(found.get(minor, version), version)
    return {minor: str(found[minor]) for minor in sorted(found)}


def read(wheel: bytes, top: str) -> tuple[set[str], set[str]]:
    """The public names of a package and its modules, as its wheel has them.

    Args:
        wheel: the file.
        top: the package that is imported.
    """
    names: set[str] = set()
    modules: set[str] = set()
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for path in archive.namelist():
            if not path.startswith(f"{top}/") or not path.endswith(".py") or _OTHERS.search(path):
                continue
            module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if not all(part.isidentifier() for part in module.split(".")):
                continue
            modules.add(module)
            names |= set(_public(archive.read(path).decode("utf-8", "replace"), whole=path.endswith("/__init__.py")))
    return names, modules


def _public(text: str, whole: bool) -> Iterator[str]:
    for match in _DEFINED.finditer(text):
        yield match[1] or match[2]
    for match in _ALL.finditer(text):
        yield from _LISTED.findall(match[1])
    if whole:
        yield from _LISTED.findall(text)
        for match in _IMPORTED.finditer(text):
            yield from (_WORD.findall(part)[-1] for part in (match[1] or match[2]).split(",") if _WORD.search(part))


def changes(every: dict[tuple[int, int], set[str]]) -> tuple[str, str]:
    """What came and what went: "NAME 4.42, ..." for both; a name that went and came again counts as there.

    Args:
        every: the names of each minor release, the oldest first.
    """
    minors = list(every)
    seen: dict[str, list[int]] = {}
    for at, minor in enumerate(minors):
        for name in every[minor]:
            seen.setdefault(name, []).append(at)
    last = len(minors) - 1
    came = {name: minors[found[0]] for name, found in seen.items() if found[0] > 0}
    went = {name: minors[found[-1] + 1] for name, found in seen.items() if found[-1] < last}
    return _listed(came), _listed(went)


def _listed(found: dict[str, tuple[int, int]]) -> str:
    return ", ".join(f"{name} {a}.{b}" for name, (a, b) in sorted(found.items()))


def names_of(package: str, top: str) -> Names:
    """Read the wheels of a package.

    Raises:
        OSError: PyPI does not answer.
    """
    names: dict[tuple[int, int], set[str]] = {}
    modules: dict[tuple[int, int], set[str]] = {}
    for minor, number in releases(fetch(ADDRESS.format(name=package))).items():
        with tempfile.TemporaryDirectory() as folder:
            words = ["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", folder]
            subprocess.run([sys.executable, *words, f"{package}=={number}"], check=False, capture_output=True)
            wheels = list(Path(folder).glob("*.whl"))
            if wheels:  # of a release without one nothing is known
                names[minor], modules[minor] = read(wheels[0].read_bytes(), top)
    public = {minor: {one for one in found if len(one) > 3} for minor, found in names.items()}
    added, removed = changes(public)
    _, gone = changes(modules)
    return Names(module=top, added=added, removed=removed, modules=gone)


def written(rows: dict[str, Names], today: datetime.date) -> str:
    """The text of the table."""
    parts = []
    for name in sorted(rows):
        row = rows[name]
        lines = (f"{key} = {wrapped(getattr(row, key))}" for key in ("module", "added", "removed", "modules"))
        parts.append(f"[package.{name}]\n" + "\n".join(lines))
    return (
        f"""\
# The names that packages gained and lost since {SINCE}, with the minor release from which on that is so: what an import
# does not find tells which release has it. Written by scripts/release_names.py.
# added, removed: names at the top of any module; modules: those that went. "NAME RELEASE, ..."

[meta]
collected = "{today}"
confidence = "high"

[[source]]
id = "pypi"
what = "The last wheel of each minor release: the names that its modules define, import or list"
url = "https://pypi.org/"
date = "{today}"

"""
        + "\n\n".join(parts)
        + "\n"
    )


def main(words: Iterable[str]) -> int:
    """Read the packages, NAME or NAME:MODULE, and write the table; gives the exit code."""
    rows, failed = dict(release_names().package) if TABLE.exists() else {}, 0
    tops = {name: row.module for name, row in rows.items()}
    tops |= {word.partition(":")[0]: word.partition(":")[2] or word.replace("-", "_") for word in words}
    for name, top in tops.items():
        try:
            rows[name] = names_of(name, top)
        except (OSError, msgspec.MsgspecError) as error:
            sys.stderr.write(f"{name}: {error}\n")
            failed = 3
    TABLE.write_text(written(rows, datetime.datetime.now(datetime.UTC).date()), encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
