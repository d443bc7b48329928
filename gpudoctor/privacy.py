"""Takes out of facts what identifies a person or a machine, so that a facts file can be handed to others."""

import os
import re
from collections.abc import Callable
from typing import Any

import msgspec

from gpudoctor.facts import Facts, Gpu, Host, User

MASK = "***"
# Tokens by their known beginnings, JSON Web Tokens, conda's token in a channel's address, long hexadecimal keys, and
# the UUID of the disk on the kernel's command line. A GPU's UUID stays: masks are judged by it.
_TOKEN = re.compile(
    r"(?i:hf_|gh[opsu]_|github_pat_|sk-|xox[abprs]-|glpat-|nvapi-|pypi-|AKIA)[A-Za-z0-9_\-]{8,}"
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|(?<=/t/)[\w-]{8,}(?=/)|\b[0-9a-fA-F]{32,}\b|(?<=\bUUID=)[0-9a-fA-F-]{8,}"
)
_HOME = re.compile(r"/(home|[Uu]sers)/[^/\s:;,\"']+")  # wherever that lies, as in /net/home/NAME
_WINDOWS = re.compile(r"(/mnt/[a-z]/Users)/[^/:;,\"'\n]+(?=/)")  # there a name may hold a blank
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


def masked(facts: Facts) -> Facts:
    """The facts without serial numbers, names of user and host, home folders and tokens."""
    words = _words(facts)

    def replace(text: str) -> str:
        text = _HOME.sub(r"/\1/user", _WINDOWS.sub(r"\1/user", _TOKEN.sub(MASK, text)))
        for pattern, instead in words:
            text = pattern.sub(instead, text)
        return text

    found: Facts = _walk(facts, replace)
    gpus = found.gpus
    if isinstance(gpus, tuple):
        gpus = tuple(msgspec.structs.replace(g, serial=_gone(g)) for g in gpus)
    host = msgspec.structs.replace(found.host, hostname=_hidden(found.host), user=_nobody(found.host.user))
    return msgspec.structs.replace(found, gpus=gpus, host=host)


def _gone(gpu: Gpu) -> Any:
    return MASK if isinstance(gpu.serial, str) else gpu.serial


def _hidden(host: Host) -> Any:
    return "host" if isinstance(host.hostname, str) else host.hostname


def _nobody(user: User) -> User:
    name = "user" if isinstance(user.name, str) and user.name != "root" else user.name
    return msgspec.structs.replace(user, name=name)


def _words(facts: Facts) -> list[tuple[re.Pattern[str], str]]:
    """The host's name as a whole word, the user's as a folder, and the user's home where it is not under /home."""
    words = []
    host = facts.host.hostname
    if isinstance(host, str) and len(host) > 2 and host not in ("localhost", "host"):
        words.append((re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])"), "host"))
    user = facts.host.user.name
    if isinstance(user, str) and len(user) > 2 and user not in _NOBODY:
        words.append((re.compile(rf"(?<=/){re.escape(user)}(?=[/:\s]|$)"), "user"))
    home = os.path.normpath(facts.host.environment.get("HOME", "/"))
    if home.count("/") > 1 and not home.startswith(("/home/", "/Users/")):
        words.append((re.compile(rf"{re.escape(home)}(?![\w-])"), "/home/user"))
    return words


def _walk(node: Any, replace: Callable[[str], str]) -> Any:
    """The same tree with each string replaced; keys stay, because they are names of fields and variables."""
    if isinstance(node, str):
        return replace(node)
    if isinstance(node, tuple):
        return tuple(_walk(one, replace) for one in node)
    if isinstance(node, dict):
        return {key: _walk(one, replace) for key, one in node.items()}
    if isinstance(node, msgspec.Struct):
        return type(node)(**{name: _walk(getattr(node, name), replace) for name in node.__struct_fields__})
    return node
