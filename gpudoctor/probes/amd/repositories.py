"""Which of AMD's package repositories the package manager knows (sources.list(5), dnf.conf(5))."""

from collections.abc import Iterator

from gpudoctor.facts.amd import AmdRepository
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers import repositories as files

SERVER = "repo.radeon.com"
_APT, _APT_FILE = "/etc/apt/sources.list.d", "/etc/apt/sources.list"
_RPM = ("/etc/yum.repos.d", "/etc/zypp/repos.d")
_LOGIN = pattern(r"(?<=://)[^/@\s]+@")
# A package manager's file has some lines; more than that is no configuration.
_LIMIT = 1 << 18


def repositories(machine: Machine) -> tuple[AmdRepository, ...]:
    """Return AMD's repositories that are switched on, each once."""
    found = [*_apt(machine), *_rpm(machine)]
    return tuple({(one.address, one.suite): one for one in reversed(found)}.values())[::-1]


def _apt(machine: Machine) -> Iterator[AmdRepository]:
    for path in (_APT_FILE, *(f"{_APT}/{name}" for name in machine.names(_APT))):
        text = _read(machine, path) if path.endswith((".list", ".sources")) else ""
        for one in files.apt(path, text):
            if SERVER in one.address:
                yield AmdRepository(path=path, address=one.address.rstrip("/"), suite=one.suite)


def _rpm(machine: Machine) -> Iterator[AmdRepository]:
    for folder in _RPM:
        for name in machine.names(folder):
            text = _read(machine, f"{folder}/{name}") if name.endswith(".repo") else ""
            for one in files.rpm(text):
                if SERVER in one.address:
                    yield AmdRepository(path=f"{folder}/{name}", address=one.address.rstrip("/"))


def _read(machine: Machine, path: str) -> str:
    """A file's text where it names AMD's server, and nothing else of it."""
    try:
        text = machine.text(path, _LIMIT)
    except OSError:
        return ""
    return _LOGIN.sub("***@", text) if SERVER in text else ""
