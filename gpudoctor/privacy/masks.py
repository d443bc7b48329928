"""Masks in facts what identifies a person or a machine.

Replacements are stable within one machine's facts: what was the same stays the same, what differed still differs, so
that masked facts are judged as the real ones are. Keys, which name fields and variables, are never touched.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gpudoctor.facts import Facts, Gpu, Host, UserGroup
from gpudoctor.facts.history import ChangeHistory
from gpudoctor.maybe import Unknown
from gpudoctor.privacy.names import NameMasks
from gpudoctor.privacy.secrets import MASK, without_secrets
from gpudoctor.privacy.tree import walk
from gpudoctor.privacy.uuids import Uuids
from gpudoctor.report.model import Report

# Groups that distributions and drivers make; any other name of a group may be an organisation's or a person's.
_GROUPS = ("root", "render", "video", "docker", "sudo", "wheel", "adm", "users", "nogroup", "nobody", "podman", "input")
_OWN_GROUPS = 1000  # numbers from here on are given to people and their groups


def masked(facts: Facts, uuids: bool = True) -> Facts:
    """The facts without names of user and host, home folders, serial numbers, addresses and secrets.

    Args:
        facts: as they were found.
        uuids: mask UUIDs too; where the facts stay on the machine, they tell one card from another.
    """
    return Masks(facts, uuids).facts()


class Masks:
    """What identifies one machine and its user, and what is said instead.

    Args:
        facts: as they were found.
        uuids: whether UUIDs are masked too.
    """

    def __init__(self, facts: Facts, uuids: bool = True) -> None:
        self._facts, self._also_uuids = facts, uuids
        self._uuids, self._names = Uuids(facts), NameMasks(facts)

    def text(self, text: str) -> str:
        """A text of this machine, masked."""
        reported = without_secrets(text)
        return self._names.hidden(self._uuids.hidden(reported) if self._also_uuids else reported)

    def facts(self) -> Facts:
        """The facts, masked."""
        found: Facts = walk(self._facts, self.text)
        gpus = found.gpus
        if isinstance(gpus, tuple):
            gpus = tuple(msgspec.structs.replace(gpu, serial=_serial(gpu)) for gpu in gpus)
        return msgspec.structs.replace(
            found, gpus=gpus, host=self._host(found.host), history=self._history(found.history)
        )

    def _history(self, history: ChangeHistory) -> ChangeHistory:
        """Who asked for a change is a name alone, which no sentence gives away."""
        real = self._facts.history.packages
        if isinstance(real, Unknown) or isinstance(history.packages, Unknown):
            return history
        people = (one.user and self._names.person(one.user) for one in real)
        pairs = zip(history.packages, people, strict=True)
        return msgspec.structs.replace(
            history, packages=tuple(msgspec.structs.replace(one, user=user) for one, user in pairs)
        )

    def report(self, report: Report) -> Report:
        """A report on masked facts with what a log says, which was not among the facts."""
        symptoms, origin, ranks = (walk(one, self.text) for one in (report.symptoms, report.log_origin, report.ranks))
        if origin and isinstance(name := self._facts.host.hostname, str):  # named as a host, so however short it is
            name_here = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
            evidence = (name_here.sub("host", one) if one.startswith("host ") else one for one in origin.evidence)
            origin = msgspec.structs.replace(origin, evidence=tuple(evidence))
        return msgspec.structs.replace(report, symptoms=symptoms, log_origin=origin, ranks=ranks)

    def _host(self, host: Host) -> Host:
        """The names themselves: they hide in no sentence, so no rule for words has to find them."""
        real, user = self._facts.host, host.user
        groups = user.groups
        if isinstance(groups, tuple):
            groups = tuple(msgspec.structs.replace(group, name=_group(group)) for group in groups)
        name = "user" if isinstance(user.name, str) and user.name != "root" else user.name
        environment = {key: self._names.address(key, value) for key, value in host.environment.items()}
        if self._also_uuids:
            given = real.environment
            environment = {key: self._uuids.mask(key, value, given[key]) for key, value in environment.items()}
        return msgspec.structs.replace(
            host,
            hostname="host" if isinstance(host.hostname, str) else host.hostname,
            user=msgspec.structs.replace(user, name=name, groups=groups),
            environment=environment,
        )


def _serial(gpu: Gpu) -> Any:
    return MASK if isinstance(gpu.serial, str) else gpu.serial


def _group(group: UserGroup) -> str | None:
    if group.name is None or group.name in _GROUPS or group.gid < _OWN_GROUPS:
        return group.name
    return f"group{group.gid}"
