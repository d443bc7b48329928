"""The logs of package managers that are texts, with those that logrotate has put aside."""

import zlib
from collections.abc import Iterator

from gpudoctor.facts.history import RecordedChange
from gpudoctor.machine import Machine
from gpudoctor.parsers import package_logs

_TAIL = 4 << 20  # bytes that are read of a log: its end
_ROTATED = 12  # months, as Debian's /etc/logrotate.d/apt keeps them
_APT, _DPKG = "/var/log/apt/history.log", "/var/log/dpkg.log"
_READERS = {
    _APT: package_logs.apt_history,
    _DPKG: package_logs.dpkg_log,
    "/var/log/pacman.log": package_logs.pacman_log,
    "/var/log/zypp/history": package_logs.zypp_history,
}
SOURCES = tuple(_READERS)


def changes(machine: Machine) -> Iterator[RecordedChange]:
    """Return what the logs record; apt's come before dpkg's, which repeat them."""
    for path, read in _READERS.items():
        rotated = (_APT, _DPKG)
        for place in (path, *_older(path)) if path in rotated and machine.exists(path) else (path,):
            text = tail(machine, place)
            if text is None and place not in (path, f"{path}.1", f"{path}.1.gz"):
                break
            yield from read(text or "", place)


def _older(path: str) -> Iterator[str]:
    yield f"{path}.1"
    for number in range(1, _ROTATED + 1):
        yield f"{path}.{number}.gz"


def tail(machine: Machine, path: str) -> str | None:
    """Return the end of a log, unpacked; None where it cannot be read."""
    try:
        if path.endswith(".gz"):
            data = zlib.decompressobj(wbits=31).decompress(machine.data(path, _TAIL), _TAIL)
        else:
            with machine.open(path) as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - _TAIL))
                data = file.read(_TAIL)
    except (OSError, zlib.error):
        return None
    return data.decode("utf-8", "replace")
