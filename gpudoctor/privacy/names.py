"""Names of people and hosts, wherever a path, a sentence or an address holds them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import msgspec

from gpudoctor.facts import Facts, Host
from gpudoctor.lazy_regex import pattern
from gpudoctor.privacy.secrets import MASK
from gpudoctor.privacy.tree import strings

# Wherever that lies, as in /net/home/NAME; on Windows' disks a name may hold a blank.
_HOME = pattern(r"(/mnt/[a-z]/Users/)([^/:;,\"'\n]+)(?=/)|(/(?:home|[Uu]sers)/)([^/\s:;,\"']+)")
# On native Windows, with either slash, doubled where a message quotes it; the name may hold a blank.
_WINDOWS = pattern(r"(?<![A-Za-z])([A-Za-z]:[\\/]{1,2}[Uu]sers[\\/]{1,2})([^\\/:;,\"'\n]+)")
# Also as systemd names interfaces after it: enx00e04c680001.
_MAC = pattern(r"(?<![0-9a-fA-F:-])(?:[0-9a-fA-F]{2}[:-]){5,6}[0-9a-fA-F]{2}(?![0-9a-fA-F:-])|(?<=\benx)[0-9a-f]{12}\b")
# Four numbers with dots are more often a version (11.0.7.247): they are an address where something says so.
_V4 = r"\d{1,3}(?:\.\d{1,3}){3}"
_ADDRESS = pattern(rf"(?<=://){_V4}|(?<=[@=]){_V4}(?=[:/]|::)|(?<=\bip=){_V4}|(?<=nfsroot=){_V4}|(?<=addr=){_V4}")
_ANY_ADDRESS = pattern(rf"(?<![\w.]){_V4}(?![\w.])|(?<![\w:])(?:[0-9a-fA-F]{{0,4}}:){{3,7}}[0-9a-fA-F]{{1,4}}")
_OF_ADDRESSES = pattern(r"(?:ADDR|ADDRESS|HOST|HOSTS|IP|ENDPOINT|SERVER|NODELIST|HOSTNAME)$")
# Accounts that come with images and distributions: they name nobody, and often a folder of the system.
_NOBODY = (
    "root",
    "user",
    "admin",
    "ubuntu",
    "debian",
    "fedora",
    "centos",
    "ec2-user",
    "opc",
    "nvidia",
    "docker",
    "jovyan",
)
_NO_HOST = ("localhost", "host", "localhost.localdomain")
# Below these, a folder is called after a piece of software and not after somebody.
_SYSTEM = pattern(r"/(?:usr|lib\w*|etc|proc|sys|dev|s?bin|boot)(?=/|$)")
_SOFTWARE = ("site-packages", "dist-packages")
# Folders at the top in which people have theirs: there even a short name, or that of a package, is somebody's.
_OF_PEOPLE = pattern(
    r"/(?:data|scratch|work|workspace|export|nfs|net|u|users?|mnt|media|storage|store|lustre|gpfs|beegfs|ceph\w*|fsx"
    r"|shared?|projects?|raid|ssd|nvme|volumes?|srv|var/home|export/home)\d*(?=/|$)"
)
_PATH = pattern(r"/[^\s:;,\"'=<>|()\[\]]+")
# What every machine calls folders: where somebody has such a name, a path does not tell of them.
_ORDINARY = ("opt", "tmp", "var", "srv", "mnt", "home", "run", "env", "envs", "venv", ".venv")
_COMMON = 3  # a name of so many letters or fewer is a word as well


class NameMasks:
    """The names of one machine, and what is said instead: `user` and `host`, `user2` for the next home folder.

    Args:
        facts: of the machine.
    """

    def __init__(self, facts: Facts) -> None:
        host = facts.host
        taken = {*_identifiers(facts), *_ORDINARY}
        self._people: dict[str, str] = {"user": "user"}
        self._others = 1  # the last number that was given to somebody
        self._folders: dict[str, tuple[str, bool]] = {}  # by name: what is said instead, and whether anywhere
        self._words: list[tuple[re.Pattern[str], str]] = []
        if isinstance(name := host.hostname, str) and name not in _NO_HOST and len(name) > 1:
            self._add_host(name, taken)
        if isinstance(user := host.user.name, str) and len(user) > 1:
            self._people[user] = "user"
            if user not in _NOBODY:
                self._add(user, "user", user not in taken and len(user) > 2, taken)
        self._home = _own_home(host)
        if found := _HOME.match(host.environment.get("HOME", "")):  # under sudo, it may be called after another user
            self._people.setdefault(found[2] or found[4], "user")

    def _add_host(self, name: str, taken: set[str]) -> None:
        first, _, domain = name.partition(".")
        self._add(name, "host", name not in taken and len(name) > 2, taken)
        if domain:
            self._add(first, "host", first not in taken and len(first) > 2, taken)

    def _add(self, name: str, instead: str, anywhere: bool, taken: set[str]) -> None:
        self._folders[name] = instead, anywhere
        if anywhere and name.lower() not in taken and len(name) > _COMMON:
            domain = r"(?:\.[a-zA-Z][\w-]*)*" if instead == "host" else ""
            self._words.append((re.compile(rf"(?<![\w./-]){re.escape(name)}{domain}(?![\w-]|\.\w)"), instead))

    def hidden(self, text: str) -> str:
        """The text without names, home folders and addresses."""
        if ":\\" in text or ":/" in text:
            text = _WINDOWS.sub(lambda m: m[1] + self._person(m[2]), text)
        if "/" in text:
            text = _HOME.sub(lambda m: (m[1] or m[3]) + self._person(m[2] or m[4]), text)
            if self._home:
                text = self._home.sub("/home/user", text)
            if self._folders:
                text = _PATH.sub(lambda m: self._path(m[0]), text)
        for word, instead in self._words:
            text = word.sub(instead, text)
        return _ADDRESS.sub(MASK, _MAC.sub(MASK, text))

    def person(self, name: str) -> str:
        """What is said instead of the name of an account; those that come with distributions name nobody."""
        return name if name in _NOBODY or name.startswith("uid ") else self._person(name)

    def address(self, key: str, value: str) -> str:
        """The value of a variable: one whose name says so holds names or addresses of hosts."""
        return _ANY_ADDRESS.sub(MASK, value) if _OF_ADDRESSES.search(key) else value

    def _person(self, name: str) -> str:
        if name not in self._people:
            self._others += 1
            self._people[name] = f"user{self._others}"
        return self._people[name]

    def _path(self, path: str) -> str:
        if _SYSTEM.match(path):
            return path
        people = bool(_OF_PEOPLE.match(path))
        parts = path.split("/")
        for place, part in enumerate(parts):
            if part in _SOFTWARE:
                break
            instead, anywhere = self._folders.get(part, (part, False))
            if anywhere or people:
                parts[place] = instead
        return "/".join(parts)


def _own_home(host: Host) -> re.Pattern[str] | None:
    """The user's home where it lies neither under /home nor among the system's folders."""
    home = os.path.normpath(host.environment.get("HOME", "/"))
    if home.count("/") < 2 or re.match(r"/(home|Users|usr|opt|proc|etc|run|tmp|var|lib\w*)/", home):
        return None
    return re.compile(rf"{re.escape(home)}(?![\w-])")


def _identifiers(facts: Facts) -> Iterator[str]:
    """Words that the facts use for something else: a package, a module, a vendor, a GPU, a folder of the system."""
    for found in (facts.gpus, facts.pci, facts.nvidia.cuda.devices):
        for gpu in found if isinstance(found, tuple) else ():
            yield from re.findall(r"\w+", gpu.name.lower() if isinstance(gpu.name, str) else "")
    host = msgspec.structs.replace(facts.host, hostname="", user=type(facts.host.user)(), environment={})
    for text in strings(msgspec.structs.replace(facts, host=host)):
        if "/" not in text:
            if " " not in text:
                yield text.lower()
        else:  # a message may name several
            for path in _PATH.findall(text):
                if _SYSTEM.match(path) or any(folder in path for folder in _SOFTWARE):
                    yield from _after_people(path).lower().split("/")


def _after_people(path: str) -> str:
    """The part of a path that is a matter of software: all of a system's, or what lies below site-packages."""
    if _SYSTEM.match(path):
        return path
    return re.split(r"/(?:site|dist)-packages", path, maxsplit=1)[-1]
