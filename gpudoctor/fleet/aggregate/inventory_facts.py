"""What a node's inventory tells as facts with one value each, so that nodes can be compared with each other."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from gpudoctor.report.inventory import Scalar
from gpudoctor.report.model import GpuEntry, is_listed

GIB = 1 << 30
# Amounts of memory: like machines differ by what their firmware and kernel keep.
MEMORIES = frozenset({"host.memory", "host.memlock", "gpus.*.memory"})
HARDWARE = "hardware"  # the fact that holds a `Hardware`
INTERPRETER = "packages"  # the fact that names the interpreter of the packages
# No machine has more GPUs or packages; a report with more is none of ours.
MOST = 5000
# No number of a machine is larger; memory without a limit is 2 to the power of 64.
LARGEST = 1e20
_HOME = re.compile(r"(/home/[^/]+|/Users/[^/]+|/root)(?=/)")


class Hardware(NamedTuple):
    """What a node's GPUs are.

    Attributes:
        number: how many the driver lists.
        names: their names, each once.
        label: for people: "8 x NVIDIA H100 80GB HBM3".
        silent: whether GPUs are there that no driver lists.
    """

    number: int
    names: tuple[str, ...]
    label: str
    silent: bool = False


Value = Scalar | Hardware
Facts = dict[str, Value]
_machine = msgspec.json.Decoder(dict[str, Scalar]).decode
_listed = msgspec.json.Decoder(list[dict[str, Scalar]]).decode
_packages = msgspec.json.Decoder(dict[str, dict[str, str]]).decode
_shown = msgspec.json.Decoder(list[GpuEntry]).decode


def of_machine(data: bytes) -> Facts:
    """The facts of the machine; memory in whole GiB.

    Raises:
        msgspec.MsgspecError: they are none.
    """
    facts: dict[str, Any] = _sane(_machine(data))
    for path in MEMORIES & facts.keys():
        facts[path] = _whole(facts[path])
    return facts


def of_gpus(data: bytes) -> Facts:
    """The facts of the GPUs: one value where all agree, else how many GPUs have which.

    Which GPU it is counts for nothing: the same fault on another one is the same.

    Raises:
        msgspec.MsgspecError: they are none.
    """
    gpus = [_sane(one) for one in _few(_listed(data))]
    facts: dict[str, Any] = {HARDWARE: _hardware([one.get("name") for one in gpus])}
    for name in dict.fromkeys(name for one in gpus for name in one):
        path = f"gpus.*.{name}"
        values = [_whole(one.get(name)) if path in MEMORIES else one.get(name) for one in gpus]
        facts[path] = values[0] if len(set(values)) == 1 else _mixed(values, path)
    return facts


def of_shown(data: bytes) -> Facts:
    """What a report tells people of its GPUs, where the inventory has none: no driver lists them, or it is an old one.

    Raises:
        msgspec.MsgspecError: it tells nothing.
    """
    gpus = _few(_shown(data))
    listed = [one.name for one in gpus if is_listed(one.status)]
    if gpus and not listed:
        why = "driver not asked" if all(one.status == "unknown" for one in gpus) else "not visible to any driver"
        return {HARDWARE: Hardware(0, (), f"{_number(len(gpus))} {why}", silent=True)}
    return {HARDWARE: _hardware(listed)}


def of_packages(data: bytes) -> Facts:
    """The versions of the packages: of the first interpreter by name alone, wherever it lies; of others with its place.

    The directory of a user is no difference: it stands as ~.

    Raises:
        msgspec.MsgspecError: there are none.
    """
    facts: dict[str, Any] = {}
    for path, packages in _few(_packages(data)).items():
        place = _HOME.sub("~", path, count=1)
        if not packages:
            continue  # nobody could tell
        prefix = f"packages[{place}]." if facts else "packages."
        facts.setdefault(INTERPRETER, place)
        facts |= {prefix + name: version for name, version in _few(packages).items()}
    return facts


def _sane(facts: dict[str, Any]) -> dict[str, Any]:
    if any(isinstance(value, int | float) and not -LARGEST < value < LARGEST for value in facts.values()):
        raise ValueError("a number is implausibly large")
    _few(facts)
    return facts


def _few(found: Any) -> Any:
    if len(found) > MOST:
        raise ValueError(f"more than {MOST} facts of one kind")
    return found


def _whole(value: Any) -> Any:
    return round(value / GIB) * GIB if isinstance(value, int | float) and value >= GIB else value


def _number(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def _hardware(names: Iterable[object]) -> Hardware:
    found = Counter("unknown GPU" if name is None else str(name) for name in names)
    label = " + ".join(f"{count} x {name}" for name, count in sorted(found.items()))
    return Hardware(found.total(), tuple(sorted(found)), label or "no GPU")


def _mixed(values: list[Scalar], path: str) -> str:
    """Values that GPUs of one node do not share, and on how many each is: 16 on 7 GPUs, 8 on 1."""
    found = sorted(Counter(text(value, path) for value in values).items(), key=lambda pair: (-pair[1], pair[0]))
    (usual, count), *others = found
    return ", ".join([f"{usual} on {_number(count)}", *(f"{value} on {number}" for value, number in others)])


def text(value: object, path: str = "") -> str:
    """A value for people; amounts of memory in GiB."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value / GIB:.0f} GiB" if path in MEMORIES and value >= GIB else f"{value:.15g}"
    return str(value)
