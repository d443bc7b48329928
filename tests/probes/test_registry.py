"""The list of probes: what each declares fits its function and the facts."""

from typing import Any, get_args, get_type_hints

import pytest

from gpudoctor.facts import Facts, Host, NvidiaKernel, PciDevice
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes import FOREIGN, HOST, PCI, PROBES, Probe, system_steps
from gpudoctor.recorded_machine import RecordedMachine
from tests.builders import host

EVERY = (HOST, PCI, *PROBES, *FOREIGN)


@pytest.mark.parametrize("probe", [HOST, PCI, *PROBES], ids=lambda probe: probe.key)
def test_a_probe_asks_for_inputs_that_there_are(probe: Probe) -> None:
    hints = get_type_hints(probe.function())
    del hints["return"]
    known: dict[str, Any] = {
        "machine": Machine,
        "host": Host,
        "vendors": frozenset[str],
        "wanted": bool,
        "quick": bool,
        "before": NvidiaKernel | None,
    }
    assert {name: hint for name, hint in hints.items() if name != "cards"}.items() <= known.items()
    assert ("cards" in hints) == bool(probe.vendor)


@pytest.mark.parametrize("probe", EVERY, ids=lambda probe: probe.key)
def test_a_probe_gives_the_parts_that_it_fills(probe: Probe) -> None:
    returned = get_type_hints(probe.function())["return"]
    types = [_type(path) for path in probe.parts]
    assert returned == (types[0] if len(types) == 1 else tuple[tuple(types)])  # type: ignore[misc]
    for example in (probe.idle, probe.absent):
        assert example is None or type(example) in (types[0], *get_args(types[0]))


def _type(path: str) -> Any:
    top, _, field = path.partition(".")
    hint = get_type_hints(Facts)[top]
    return get_type_hints(hint)[field] if field else hint


def test_every_part_of_the_facts_has_a_probe() -> None:
    filled = {path.partition(".")[0] for probe in EVERY for path in probe.parts}
    of_the_run = {"schema", "version", "created", "seconds", "quick", "failed"}
    assert set(Facts.__struct_fields__) - filled == of_the_run | {"pythons", "smoke", "history"}
    assert len({probe.key for probe in EVERY}) == len(EVERY)


def test_each_vendors_probe_is_given_its_own_devices() -> None:
    card = PciDevice(address="0000:03:00.0", vendor="1002", device="744c", class_code="030000")
    steps = {key: step for key, _, step in system_steps(RecordedMachine({}), host, lambda: (card,))}
    assert list(steps) == [probe.key for probe in PROBES]
    assert not isinstance(steps["amd"]().dkms, Unknown)
    assert isinstance(steps["nvidia kernel"]().dkms, Unknown)
