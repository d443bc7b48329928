"""The history of dnf: a database of SQLite, that of dnf 4 or of dnf 5, else the log of its rpm transactions."""

from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.facts.history import RecordedChange
from gpudoctor.machine import Machine
from gpudoctor.parsers.package_logs import RELEVANT, rpm_log
from gpudoctor.probes.history import clock, files

_DNF5, _DNF4 = "/usr/lib/sysimage/libdnf5/transaction_history.sqlite", "/var/lib/dnf/history.sqlite"
_LOG = "/var/log/dnf.rpm.log"
SOURCES = (_DNF5, _DNF4, _LOG)
_LARGEST = 256 << 20  # bytes of a database; of some years it has 10 MB
_NOBODY = 2**32 - 1  # audit's loginuid of a program that no login started (loginuid(5), "unset")
# libdnf, libdnf/transaction/sql/create_tables.sql, with its enum TransactionItemAction; dnf5,
# libdnf5/transaction/db/sql/create_tables.sql, whose first releases called two tables otherwise.
_SELECT = """
SELECT t.id, t.dt_begin, t.{command}, t.user_id, {action}, {name}, r.version || '-' || r.release
FROM trans_item i JOIN trans t ON t.id = i.trans_id JOIN rpm r ON r.item_id = i.item_id {join}
ORDER BY i.id DESC LIMIT 20000
"""
_JOIN5 = "JOIN {names} n ON n.id = r.name_id JOIN trans_item_action a ON a.id = i.action_id"
_NAMED5 = {"command": "description", "action": "a.name", "name": "n.name"}
_QUERIES = {
    _DNF5: tuple(_SELECT.format(**_NAMED5, join=_JOIN5.format(names=names)) for names in ("pkg_name", "pkg_names")),
    _DNF4: (_SELECT.format(command="cmdline", action="i.action", name="r.name", join=""),),
}
_ACTIONS: dict[str | int, str] = {
    **{name: name.lower() for name in ("Install", "Upgrade", "Downgrade", "Reinstall", "Remove")},
    **dict.fromkeys(("Replaced", 3, 5, 7), "old"),
    **dict(zip((1, 2, 6, 8, 9), ("install", "downgrade", "upgrade", "remove", "reinstall"), strict=True)),
}


def changes(machine: Machine, zone: clock.Zone) -> Iterator[RecordedChange]:
    """Return what dnf records; its log only where no database can be read."""
    found = [change for path, queries in _QUERIES.items() for change in _database(machine, path, queries, zone)]
    yield from found or rpm_log(files.tail(machine, _LOG) or "", _LOG)


def _database(machine: Machine, path: str, queries: tuple[str, ...], zone: clock.Zone) -> Iterator[RecordedChange]:
    there = machine.status(path)
    if there is None or there.size > _LARGEST:
        return
    try:
        import sqlite3  # a Python may be built without it
    except ImportError:
        return
    place = machine.place(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    for query in queries:
        try:
            # immutable: no lock and no journal is made next to it.
            connection = sqlite3.connect(f"file:{place}?mode=ro&immutable=1", uri=True)
            try:
                rows = connection.execute(query).fetchall()
            finally:
                connection.close()
        except sqlite3.Error:
            continue
        yield from _read(rows, path, zone)
        return


def _read(rows: list[tuple[Any, ...]], path: str, zone: clock.Zone) -> Iterator[RecordedChange]:
    """What a transaction replaced is a row of its own."""
    named = [row for row in rows if isinstance(row[5], str) and RELEVANT.search(row[5])]
    olds = {(row[0], row[5]): row[6] for row in named if _ACTIONS.get(row[4]) == "old"}
    for number, begun, command, user, action, name, version in named:
        kind = _ACTIONS.get(action, "old")
        if kind == "old" or not isinstance(begun, int) or not 0 < begun < 1 << 33:
            continue
        gone = kind == "remove"
        values = {
            "time": clock.text(begun, zone),
            "action": kind,
            "name": name,
            "old": version if gone else olds.get((number, name)),
            "new": None if gone else version,
            "command": str(command)[:300] if command else None,
            "user": f"uid {user}" if isinstance(user, int) and 0 <= user < _NOBODY else None,
            "source": path,
        }
        yield msgspec.convert(values, RecordedChange)
