"""The kernel's log: the lines that matter, recognised."""

import msgspec

from gpudoctor.facts.text_types import Seconds, Whole
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class LogEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One recognised message; `kind` is an id of knowledge/kernel_log.toml."""

    kind: str
    text: str
    seconds: Seconds | None = None  # since boot
    gpu: str | None = None  # PCI address "0000:07:00.0"
    code: Whole | None = None  # Xid or SXid
    what: dict[str, str] = {}  # other named parts of the message: module, branch, driver, pid ...


class KernelLog(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel's log since boot."""

    source: str | None = None  # /dev/kmsg, journalctl, dmesg
    events: Maybe[tuple[LogEvent, ...]] = NOT
    shown: tuple[LogEvent, ...] = ()  # what somebody who saw it gave to `gpudoctor explain`; no probe fills it
    first: Maybe[Seconds | None] = NOT  # seconds of the oldest line: above some seconds the ring has wrapped
    now: Maybe[Seconds] = NOT  # seconds since boot when the log was read: what the events' times are weighed against


NO_LOG = KernelLog(events=())  # on macOS and native Windows
