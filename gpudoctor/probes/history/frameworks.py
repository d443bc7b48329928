"""When a framework without GPU support came into an environment, and what brought it: pip's, uv's and conda's records.

pip and uv write RECORD when they install, whatever time the wheel's own files have, and an empty file REQUESTED
(https://packaging.python.org/en/latest/specifications/recording-installed-packages/): pip for what was named on the
command line, uv for everything. What is only required pip installs before what requires it.
"""

import re
import time
from collections.abc import Iterator, Mapping

from gpudoctor.facts import Facts, Framework, Python
from gpudoctor.facts.history import FrameworkChange
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown, known_or, text_of
from gpudoctor.parsers.conda_history import last_change
from gpudoctor.parsers.metadata import is_optional, read_head
from gpudoctor.probes import cpu_builds
from gpudoctor.probes.history import clock, files

# Seconds between a requirement and what required it in one command: unpacking what lies between takes minutes.
_WITHIN = 600.0
_CONDA_NAMES = {"torch": "pytorch"}


def probe(machine: Machine, facts: Facts, zone: clock.Zone) -> Iterator[FrameworkChange]:
    """Return what is recorded of each."""
    for python, framework in cpu_builds(facts):
        found = _conda(machine, python, framework) or _dist_info(machine, python, framework, zone)
        if found:
            yield found


def _conda(machine: Machine, python: Python, framework: Framework) -> FrameworkChange | None:
    name = _CONDA_NAMES.get(framework.name, framework.name)
    record = next((c for c in known_or(python.conda, None) or () if c.name == name), None)
    text = files.tail(machine, f"{text_of(python.prefix)}/conda-meta/history") if record else None
    found = last_change(text, name) if text else None
    if record is None or found is None or found.new != f"{record.version} {record.build}":
        return None
    return FrameworkChange(
        python=python.path,
        name=name,
        version=found.new,
        time=found.time,
        installer="conda",
        old=found.old,
        command=found.command,
    )


def _dist_info(machine: Machine, python: Python, framework: Framework, zone: clock.Zone) -> FrameworkChange | None:
    packages = () if isinstance(python.packages, Unknown) else python.packages
    own = next((p for p in packages if p.name == _normal(framework.distribution or "")), None)
    if own is None:
        return None
    there = _directories(machine, own.directory)
    mine = there.get(own.name)
    age = machine.age(f"{mine}/RECORD", written=True) if mine else None
    if mine is None or age is None:
        return None
    asked_for = machine.exists(f"{mine}/REQUESTED") if own.installer == "pip" else None
    return FrameworkChange(
        python=python.path,
        name=own.name,
        version=own.version,
        time=clock.text(time.time() - age, zone),
        installer=own.installer,
        asked_for=asked_for,
        wanted_by=() if asked_for is not False else tuple(_wanted_by(machine, there, own.name, age)),
    )


def _directories(machine: Machine, site: str) -> dict[str, str]:
    """The directories of metadata in a site-packages, by the normalized names of their packages."""
    names = (name for name in machine.names(site) if name.endswith(".dist-info"))
    return {_normal(name.partition("-")[0]): f"{site}/{name}" for name in names}


def _wanted_by(machine: Machine, there: Mapping[str, str], name: str, age: float) -> Iterator[str]:
    """The packages that were named soon after the framework was installed, and that require it."""
    for other, place in there.items():
        since = age - (machine.age(f"{place}/RECORD", written=True) or 0.0)
        if -1 <= since <= _WITHIN and machine.exists(f"{place}/REQUESTED") and _requires(machine, there, other, name):
            yield f"{other} {place.rpartition('/')[2].partition('-')[2].removesuffix('.dist-info')}"


def _requires(machine: Machine, there: Mapping[str, str], package: str, wanted: str) -> bool:
    """Whether a package requires another one, itself or by what it requires; extras do not count."""
    left, seen = [package], {package}
    while left:
        try:
            head = read_head(machine.data(f"{there[left.pop()]}/METADATA"))
        except OSError:
            continue
        needed = (line for line in head.requires if not is_optional(line))
        names = {_normal(re.split(r"[\s;<>=!~\[(@]", line, maxsplit=1)[0]) for line in needed}
        if wanted in names:
            return True
        left += (new := [name for name in names if name in there and name not in seen])
        seen.update(new)
    return False


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
