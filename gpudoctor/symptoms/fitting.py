"""The steps of a message's row for a machine, in an order that fits: in a container those of its host last."""

from collections.abc import Sequence

import msgspec

from gpudoctor.facts import Facts, Host
from gpudoctor.fixes.row_steps import alternatives, by_distribution, commands, is_elsewhere, is_of_host, order, sentence
from gpudoctor.fixes.wsl import windows_driver
from gpudoctor.knowledge.symptoms import Symptom, SymptomFix, engines
from gpudoctor.lazy_regex import pattern
from gpudoctor.registry import AREAS
from gpudoctor.report.fixes import entry
from gpudoctor.report.model import FixEntry
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks.as_typed import typed

_SYSTEMS = ("lxc", "systemd-nspawn")
_VENDORS = {area.name: area.vendor for area in AREAS}
_VERSION = pattern(r"['\"]|[=<>]=?.*|-cu\d+$")
_WINDOWS = "If the driver does not work: install NVIDIA's current driver on Windows, then restart WSL."
_Step = tuple[SymptomFix, FixEntry]  # a step of a row with an empty entry, or what a message's own words advise


def distinct(own: Sequence[FixEntry], known: Sequence[SymptomFix]) -> list[SymptomFix]:
    """The steps of a message's row without what its own words advise already: that does or installs the same."""
    done = [_installed(fix.commands) for fix in own]
    typed = [{*fix.commands} for fix in own if fix.commands]
    new = (fix for fix in known if not any(words <= {*alternatives(fix)} for words in typed))
    return [fix for fix in new if not any(names and names <= _installed(alternatives(fix)) for names in done)]


def _installed(lines: Sequence[str]) -> frozenset[str]:
    """The packages that the first command installs with pip, without their versions; empty where it does not."""
    words = lines[0].split() if lines else []
    if "install" not in words[:4] or "pip" not in words[:3]:
        return frozenset()
    names = words[words.index("install") + 1 :]
    return frozenset(_VERSION.sub("", name) for name in names if not name.startswith("-") and "/" not in name)


def fitting(row: Symptom, facts: Facts, own: Sequence[FixEntry] = (), decided: bool = False) -> tuple[FixEntry, ...]:
    """What a message's own words advise, then its row: what can be done here; in a container what its host needs last.

    Args:
        row: of the message.
        facts: of the machine; what is unknown of it drops nothing.
        own: what the message's own words advise.
        decided: whether they leave nothing to the row.
    """
    steps = [(SymptomFix(fix.message, fix.commands), fix) for fix in own]
    rows = [] if decided else distinct(own, row.fixes)
    steps += [(one, FixEntry("")) for fix in rows for one in by_distribution(fix, facts)]
    if of_engine(row, facts):
        return _on_host(steps, facts)
    container, wsl = in_container(facts), isinstance(facts.host.wsl, int)
    host = [one for one in steps if (container or wsl) and is_of_host(one[0], container)]
    here = [one for one in steps if one not in host and not is_elsewhere(one[0], facts)]
    if container and host and any(fix.then for fix, _ in steps):
        return _on_host(steps, facts)  # steps that follow each other keep their order
    here.sort(key=lambda one: order(one[0], facts))
    found = [
        msgspec.structs.replace(old, message=sentence(fix, facts), commands=commands(fix, facts)) for fix, old in here
    ]
    if container:
        found += _on_host(host, facts)
    elif host and not _of_other_vendor(row) and not (found and gpus_of(facts)):
        found.append(entry(windows_driver(_WINDOWS), facts))
    return tuple(dict.fromkeys(found))


def of_engine(row: Symptom, facts: Facts | None) -> bool:
    """Whether this is a container, and a message is of what starts containers: nothing in here is its cause.

    Containers that hold a whole system start others themselves.
    """
    if facts is None or not in_container(facts) or facts.host.container in _SYSTEMS:
        return False
    return row.program in engines()


def _of_other_vendor(row: Symptom) -> bool:
    """Whether a message is of AMD's or Intel's GPUs: whose areas its checks are in."""
    vendors = {_VENDORS.get(id_.partition(".")[0]) for id_ in row.checks}
    return "nvidia" not in vendors and bool(vendors - {None})


def _on_host(steps: Sequence[_Step], facts: Facts) -> tuple[FixEntry, ...]:
    """Steps as they are shown within a container, for its host: of that, its kernel and its GPUs alone are known."""
    host = Facts(gpus=facts.gpus, host=Host(kernel=facts.host.kernel))
    return tuple(
        msgspec.structs.replace(
            old,
            message=sentence(fix, host, outside=True),
            commands=typed(old.tasks) if old.tasks else commands(fix, host),
            place="outside",
            as_root=False,
        )
        for fix, old in steps
        if not is_elsewhere(fix, host)
    )
