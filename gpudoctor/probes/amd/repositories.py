"""Which of AMD's package repositories the package manager knows (sources.list(5), dnf.conf(5))."""

import re
from collections.abc import Iterator

from gpudoctor.facts.amd import AmdRepository
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine

SERVER = "repo.radeon.com"
_APT, _APT_FILE = "/etc/apt/sources.list.d", "/etc/apt/sources.list"
_RPM = ("/etc/yum.repos.d", "/etc/zypp/repos.d")
# "deb [arch=amd64 signed-by=...] https://repo.radeon.com/rocm/apt/6.3.4 jammy main"
_LINE = pattern(r"(?m)^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)")
_SECTION = pattern(r"(?m)^\[[^\]]+\]\s*$")
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
        pairs = _stanzas(text) if path.endswith(".sources") else _LINE.findall(text)
        for address, suite in pairs:
            if SERVER in address:
                yield AmdRepository(path=path, address=address.rstrip("/"), suite=suite)


def _stanzas(text: str) -> Iterator[tuple[str, str]]:
    """Address and suite of each stanza in deb822 style."""
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Za-z-]+):\s*(.*?)\s*$", stanza, re.M))
        if fields.get("Enabled", "yes").lower() in ("no", "false", "0") or "deb" not in fields.get("Types", "").split():
            continue
        for address in fields.get("URIs", "").split():
            for suite in fields.get("Suites", "").split():
                yield address, suite


def _rpm(machine: Machine) -> Iterator[AmdRepository]:
    for folder in _RPM:
        for name in machine.names(folder):
            text = _read(machine, f"{folder}/{name}") if name.endswith(".repo") else ""
            for section in _SECTION.split(text):
                fields = dict(re.findall(r"^(\w+)\s*=\s*(.*?)\s*$", section, re.M))
                if SERVER in fields.get("baseurl", "") and fields.get("enabled", "1") in ("1", "yes", "true", "True"):
                    yield AmdRepository(path=f"{folder}/{name}", address=fields["baseurl"].split()[0].rstrip("/"))


def _read(machine: Machine, path: str) -> str:
    """A file's text where it names AMD's server, and nothing else of it."""
    try:
        text = machine.text(path, _LIMIT)
    except OSError:
        return ""
    return _LOGIN.sub("***@", text) if SERVER in text else ""
