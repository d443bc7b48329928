"""What was changed on this machine and when: read only where something is broken that a change may explain."""

from typing import Literal

import msgspec

from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown("not read: nothing here has to be explained by a change")

ChangeAction = Literal["install", "upgrade", "downgrade", "reinstall", "remove"]


class RecordedChange(msgspec.Struct, frozen=True, kw_only=True):
    """One package in the records of a package manager."""

    time: str  # as the machine's clock on the wall showed it: "2026-11-20 06:31:52"
    action: ChangeAction
    name: str
    old: str | None = None  # version before; None: there was none, or the record does not name it
    new: str | None = None  # version afterwards
    command: str | None = None  # the command line, as recorded
    user: str | None = None  # who asked for it, as recorded: "alice", "uid 1000"
    error: str | None = None  # how the transaction failed, as recorded
    source: str = ""  # the file that records it


class FrameworkChange(msgspec.Struct, frozen=True, kw_only=True):
    """When a framework without GPU support came into an environment, and what brought it."""

    python: str  # the interpreter's path
    name: str  # of the distribution: "torch"
    version: str
    time: str  # as above
    installer: str | None = None
    old: str | None = None  # version and build before, where conda records it
    command: str | None = None  # the command line, where conda records it
    asked_for: bool | None = None  # whether it was named, not only required by something else; None: not recorded
    wanted_by: tuple[str, ...] = ()  # packages named at that time that require it: "ultralytics 8.3.0"


class ChangeHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What changed: the packages of the system that matter for GPUs, and frameworks."""

    packages: Maybe[tuple[RecordedChange, ...]] = NOT  # oldest first
    boot: Maybe[str] = NOT  # when this boot began, by the same clock
    builds: tuple[FrameworkChange, ...] = ()
