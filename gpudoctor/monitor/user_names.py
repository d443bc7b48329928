"""Names of users by their numbers, from /etc/passwd alone: a directory service that does not respond would hang us."""

from __future__ import annotations

import msgspec

from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.sampling.lines import MonitorProcess


class Users:
    """Names users.

    Args:
        names: by number.
    """

    def __init__(self, names: dict[int, str] | None = None) -> None:
        self._names = names or {}

    @classmethod
    def of(cls, machine: Machine) -> Users:
        """The local users of a machine."""
        try:
            rows = [line.split(":") for line in machine.text("/etc/passwd").splitlines()]
        except OSError:
            rows = []
        return cls({int(row[2]): row[0] for row in rows if len(row) > 2 and row[2].isdecimal()})

    def named(self, processes: tuple[MonitorProcess, ...] | Unknown) -> tuple[MonitorProcess, ...] | Unknown:
        """Processes with their users' names; a user who is not local stays a number."""
        if isinstance(processes, Unknown):
            return processes
        return tuple(
            msgspec.structs.replace(each, user=self._names.get(each.user, each.user))
            if isinstance(each.user, int)
            else each
            for each in processes
        )
