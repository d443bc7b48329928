"""What Windows itself says of the graphics adapters and of what frameworks need; WSL's own part is `Windows`."""

import msgspec

from gpudoctor.facts.text_types import Version, Whole
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """A graphics adapter as the Device Manager lists it."""

    name: str  # "NVIDIA GeForce RTX 4070", "Microsoft Basic Display Adapter"
    vendor: str | None = None  # PCI vendor "10de"; None: it is no PCI device (remote desktop, virtual displays)
    device: str | None = None
    driver: str | None = None  # version as Windows counts: "32.0.15.5222"
    problem: Whole | None = None  # Device Manager's code: 0 well, 22 disabled, 43 stopped; None: it says none


class Windows(msgspec.Struct, frozen=True, kw_only=True):
    """Native Windows."""

    adapters: Maybe[tuple[Adapter, ...]] = NOT
    long_paths: Maybe[bool | None] = NOT  # paths longer than 260 characters are allowed
    vc_runtime: Maybe[Version | None] = NOT  # Microsoft's C++ runtime: "14.38.33130"; None: not installed


NO_WINDOWS = Windows(adapters=(), long_paths=None, vc_runtime=None)  # on other systems
