"""Machines that nobody has on their desk: nothing known, many GPUs, GPUs cut in slices, names that do harm."""

from typing import Any

import msgspec
from msgspec import inspect

from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import gpu, plain_host
from tests.checks import healthy_nvidia as nv
from tests.checks import smoke_machines as smoke
from tests.checks.amd_machines import amd_host
from tests.checks.nvidia_machines import having

# A sequence that clears the screen, markup that would colour or do something, and a byte that is no UTF-8.
HARM = "\x1b[2J[/red][@click=app.quit]\udcff\u202e"
# What decides the way that is taken, and not what is shown.
KEPT = {"vendor", "role", "class_code", "schema", "created", "kind", "variant", "outcome", "address", "status", "name"}


def harmful(node: Any) -> Any:
    """The same with harm at the end of every text, and in the names of variables."""
    if isinstance(node, msgspec.Struct) and not isinstance(node, Unknown):
        types = {field.name: field.type for field in inspect.type_info(type(node)).fields}  # type: ignore[attr-defined]
        return type(node)(**{name: _field(name, types[name], getattr(node, name)) for name in node.__struct_fields__})
    if isinstance(node, Unknown):
        return Unknown(f"{node.unknown} {HARM}")
    if isinstance(node, tuple):
        return tuple(harmful(one) for one in node)
    if isinstance(node, dict):
        return {f"{key}{HARM}": harmful(value) for key, value in node.items()}
    return f"{node}{HARM}" if isinstance(node, str) else node


def _field(name: str, of: inspect.Type, value: Any) -> Any:
    words = isinstance(value, str) and (name in KEPT or isinstance(of, inspect.LiteralType))
    literal = isinstance(of, inspect.UnionType) and any(isinstance(one, inspect.LiteralType) for one in of.types)
    return value if words or (literal and isinstance(value, str)) else harmful(value)


def _lost() -> Facts:
    lost = Unknown("NVML: GPU is lost")
    bare = {name: lost for name in gpu().__struct_fields__ if name not in ("vendor", "index")}
    return having(nv.hgx(nv.H100), gpus=(*nv.hgx(nv.H100).gpus[:3], gpu(3, **(bare | {"status": "lost"}))))  # type: ignore[index]


MACHINES: dict[str, Facts] = {
    "nothing known": Facts(),
    "no answer": plain_host(gpus=Unknown("NVML did not answer")),
    "one lost": _lost(),
    "sixteen": nv.several(16, changes=nv.H100),
    "AMD": amd_host(),
    "both vendors": having(nv.several(1), gpus=(gpu(0), gpu(0, vendor="amd", address="0000:e3:00.0", uuid=None))),
    "slices": nv.mig(),
    "tested": smoke.ill(smoke.machine(count=8), "transfer", at=3, figures={"h2d pinned": 12.0}),
    "harmful": harmful(smoke.machine()),
    "harmful without an answer": harmful(Facts()),
}
