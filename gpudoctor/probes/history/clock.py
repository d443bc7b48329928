"""The machine's clock on the wall: by it logs are written, and by it a boot is put before or after a change."""

from datetime import datetime, timezone, tzinfo
from io import BytesIO

from gpudoctor.digits import number_of
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown

Zone = tzinfo
_LONGEST = 1 << 16  # bytes of a file of time zones; the longest has 4 KiB


def zone(machine: Machine) -> Zone:
    """Return the machine's own time zone, not the user's: logs are written by root. Without a file it is UTC."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo.from_file(BytesIO(machine.data("/etc/localtime", _LONGEST)))
    except (OSError, ValueError):
        return timezone.utc


def text(seconds: float, of: Zone) -> str:
    """Return a moment as the logs write it: "2026-11-20 06:31:52".

    Args:
        seconds: since 1970.
        of: the machine's time zone.
    """
    return datetime.fromtimestamp(seconds, of).strftime("%Y-%m-%d %H:%M:%S")


def boot(machine: Machine, of: Zone) -> Maybe[str]:
    """Return when this boot began (btime of /proc/stat, proc_stat(5))."""
    try:
        lines = machine.text("/proc/stat").splitlines()
    except OSError as error:
        return Unknown(f"/proc/stat: {error.strerror}")
    number = next((number_of(line[6:].strip()) for line in lines if line.startswith("btime ")), None)
    if not number or number >> 33:  # the year 2242
        return Unknown("/proc/stat names no boot time")
    return text(number, of)
