"""What services wrote into the journal since boot: the lines that are known to be errors."""

import msgspec

from gpudoctor.facts.text_types import Count, Seconds
from gpudoctor.maybe import Maybe, Unknown


class ServiceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A known message of a service, once for all its repetitions since the service was last started."""

    service: str  # "ollama.service"; of a program that is none, its name: "podman"
    symptom: str  # a row of knowledge/symptoms*.toml
    text: str
    seconds: Seconds | None = None  # since boot, of the newest
    times: Count = 1


class ServiceLog(msgspec.Struct, frozen=True, kw_only=True):
    """The journal's known messages of services that use GPUs."""

    lines: Maybe[tuple[ServiceLine, ...]] = Unknown("the journal of services was not read")
