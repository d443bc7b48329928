"""The package repositories that files of apt, dnf and zypper name (sources.list(5), dnf.conf(5))."""

import re
from collections.abc import Iterator

import msgspec

from gpudoctor.lazy_regex import pattern

# "deb [arch=amd64 signed-by=...] https://repo.radeon.com/rocm/apt/6.3.4 jammy main"; the name of a disc has blanks:
# "deb cdrom:[Debian GNU/Linux 12.5.0 _Bookworm_ - Official amd64 DVD Binary-1]/ bookworm main".
_LINE = pattern(r"(?m)^[ \t]*deb[ \t]+(?:\[[^\]]*\][ \t]+)?(cdrom:\[[^\]\n]*\]\S*|\S+)[ \t]+(\S+)[ \t]*([^#\n]*)")
_SECTION = pattern(r"(?m)^\[[^\]]+\]\s*$")


class ListedRepository(msgspec.Struct, frozen=True):
    """A repository that is enabled: its address, and of apt's its suite and components."""

    address: str
    suite: str | None = None
    components: tuple[str, ...] = ()


def apt(path: str, text: str) -> Iterator[ListedRepository]:
    """The binary repositories of a file of apt's, in the style that its name tells (.list, .sources)."""
    if path.endswith(".sources"):
        yield from _stanzas(text)
        return
    for address, suite, components in _LINE.findall(text) if "deb" in text else ():
        yield ListedRepository(address, suite, tuple(components.split()))


def _stanzas(text: str) -> Iterator[ListedRepository]:
    for fields in fields_of_stanzas(text):
        if fields.get("Enabled", "yes").lower() in ("no", "false", "0") or "deb" not in fields.get("Types", "").split():
            continue
        for address in fields.get("URIs", "").split():
            for suite in fields.get("Suites", "").split():
                yield ListedRepository(address, suite, tuple(fields.get("Components", "").split()))


def fields_of_stanzas(text: str) -> Iterator[dict[str, str]]:
    """The fields of each block of lines, which a blank line ends (deb822(5)); folded lines are passed over."""
    fields: dict[str, str] = {}
    for line in (*text.splitlines(), ""):
        name, colon, value = line.partition(":")
        if not line.strip():
            yield fields
            fields = {}
        elif colon and name.replace("-", "").isalpha():
            fields[name] = value.strip()


def rpm(text: str) -> Iterator[ListedRepository]:
    """The repositories of a .repo file; where it names only a list of mirrors, that is the address."""
    for section in _SECTION.split(text):
        fields = dict(re.findall(r"^(\w+)\s*=\s*(.*?)\s*$", section, re.M))
        address = fields.get("baseurl") or fields.get("metalink") or fields.get("mirrorlist") or ""
        if address and fields.get("enabled", "1") in ("1", "yes", "true", "True"):
            yield ListedRepository(address.split()[0])
