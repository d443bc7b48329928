"""Which GPU of one machine is which of the other, where numbers have shifted or say nothing."""

from typing import Any

import msgspec
import pytest

from gpudoctor.comparison import (
    ComparedMachine,
    Comparison,
    Difference,
    DifferenceGroup,
    DifferenceState,
    compare,
    side,
)
from gpudoctor.comparison.findings import findings
from gpudoctor.comparison.gpu_pairs import align, called
from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from gpudoctor.privacy.masks import masked
from gpudoctor.report.model import FindingEntry, Report, UnknownEntry
from tests.builders import change, gpu
from tests.checks import healthy_nvidia as nv
from tests.checks import smoke_machines as smoke
from tests.checks.nvidia_machines import having

LOST = 3
CHECK = "device.ecc-uncorrected"


def node() -> Facts:
    """Eight H100, each of which CUDA names by its address."""
    facts = nv.hgx(nv.H100)
    for at, one in enumerate(gpus(facts)):
        facts = change(facts, f"nvidia.cuda.devices.{at}.address", one.address)
    return facts


def of_check(found: Comparison) -> list[tuple[str, DifferenceState]]:
    """The rows about the check of memory errors."""
    return [(row.path.removeprefix(f"{CHECK} "), row.state) for row in found.rows if row.path.startswith(CHECK)]


def compared(here: Facts, there: Facts) -> Comparison:
    return compare(side("here", here), side("there", there))


def rows(here: Facts, there: Facts) -> dict[str, Difference]:
    return {row.path: row for row in compared(here, there).rows}


def gpus(facts: Facts) -> tuple[Gpu, ...]:
    assert isinstance(facts.gpus, tuple)
    return facts.gpus


NODE = node()


def renumbered(facts: Facts, left: list[Gpu]) -> Facts:
    """The machine with these GPUs, numbered anew on all lists."""
    addresses = {one.address for one in left}
    pci = tuple(one for one in facts.pci if one.role != "gpu" or one.address in addresses)  # type: ignore[union-attr]
    cuda = [one for one in facts.nvidia.cuda.devices if one.address in addresses]  # type: ignore[union-attr]
    return having(
        facts,
        gpus=tuple(msgspec.structs.replace(one, index=at) for at, one in enumerate(left)),
        pci=pci,
        nvidia__cuda__devices=tuple(msgspec.structs.replace(one, index=at) for at, one in enumerate(cuda)),
        nvidia__nvml__count=len(left),
    )


def without(facts: Facts, index: int) -> Facts:
    """The machine of which a card has fallen off the bus: those behind it move up."""
    return renumbered(facts, [one for one in gpus(facts) if one.index != index])


OF_GPUS = (DifferenceGroup.MACHINE, DifferenceGroup.GPUS, DifferenceGroup.SETTINGS)


def test_a_card_that_fell_off_the_bus_is_the_one_that_is_missing() -> None:
    found = rows(without(change(NODE, "gpus.6.ecc", False), LOST), NODE)
    address = gpus(NODE)[LOST].address
    assert found[f"gpus.3 at {address}"].state is DifferenceState.ONLY_THERE
    assert found[f"pci.gpu 4 at {address}"].state is DifferenceState.ONLY_THERE
    assert found[f"nvidia.cuda.devices.3 at {address}"].state is DifferenceState.ONLY_THERE
    assert (found["gpus.5.ecc"].here, found["gpus.5.ecc"].there) == ("no", "yes")
    assert (found["gpus.5.index"].here, found["gpus.5.index"].there) == ("5", "6")
    about_gpus = [path for path, row in found.items() if row.group in OF_GPUS]
    assert [path for path in about_gpus if path.startswith(("gpus.", "pci."))] == [
        f"gpus.3 at {address}", f"pci.gpu 4 at {address}", "gpus.5.ecc",
    ]  # fmt: skip


def test_seen_from_the_other_side_it_is_only_here() -> None:
    found = rows(NODE, without(NODE, LOST))
    assert [path for path, row in found.items() if row.state is DifferenceState.ONLY_HERE] == [
        "gpus.3", "pci.gpu 4", "nvidia.cuda.devices.3",
    ]  # fmt: skip


@pytest.mark.parametrize("silent", ["uuid", "address"])
def test_one_of_uuid_and_address_is_enough(silent: str) -> None:
    mute = having(NODE, gpus=tuple(msgspec.structs.replace(one, **{silent: Unknown("x")}) for one in gpus(NODE)))
    found = rows(without(mute, LOST), mute) if silent == "uuid" else rows(mute, having(mute, gpus=gpus(mute)[::-1]))
    wrong = [path for path, row in found.items() if row.state is DifferenceState.DIFFERS and path.startswith("gpus.")]
    assert all(path.endswith(".index") for path in wrong)


def test_a_card_in_another_slot_is_the_same_card() -> None:
    first, *others = gpus(nv.several(4))
    moved = [msgspec.structs.replace(first, address="0000:e1:00.0"), *others]
    swapped = having(nv.several(4), gpus=tuple(moved[1:] + moved[:1]))
    assert rows(nv.several(4), swapped)["gpus.0.address"].there == "0000:e1:00.0"


def test_other_machines_are_compared_by_number() -> None:
    other = having(
        NODE, gpus=tuple(gpu(i, **(nv.H100 | {"uuid": f"GPU-{i}9", "address": f"0001:{i:02x}:00.0"})) for i in range(8))
    )
    assert "gpus.3.ecc" in rows(NODE, change(other, "gpus.3.ecc", False))


def test_what_several_entries_have_in_common_tells_none_of_them() -> None:
    same: dict[str, Any] = {"uuid": "GPU-9", "address": "0000:01:00.0"}
    alike = having(NODE, gpus=tuple(gpu(i, **(nv.H100 | same)) for i in range(8)))
    found = rows(NODE, change(alike, "gpus.3.ecc", False))
    assert [path for path in found if path.startswith("gpus.") and ".ecc" in path] == ["gpus.3.ecc"]


def test_a_problem_is_that_of_the_same_card_whatever_its_number() -> None:
    before = change(NODE, "gpus.6.ecc_uncorrected", 4)
    assert of_check(compared(without(before, LOST), before)) == []
    assert of_check(compared(without(NODE, LOST), before)) == [("GPU 5", DifferenceState.ONLY_THERE)]


def test_a_problem_of_a_card_that_is_gone_is_not_that_of_the_one_with_its_number() -> None:
    before = change(NODE, f"gpus.{LOST}.ecc_uncorrected", 4)
    now = change(without(NODE, LOST), f"gpus.{LOST}.ecc_uncorrected", 4)
    address = gpus(NODE)[LOST].address
    assert of_check(compared(now, before)) == [
        ("GPU 3", DifferenceState.ONLY_HERE),
        (f"GPU 3 at {address}", DifferenceState.ONLY_THERE),
    ]


def test_an_unknown_of_one_gpu_says_nothing_of_another() -> None:
    ill = FindingEntry(check=CHECK, status="fail", subject="GPU 5", title="x", message="x", cause="x")
    one = Report(findings=(ill,))
    for subject, state in (
        ("GPU 5", DifferenceState.UNKNOWN_THERE),
        ("GPU 0", DifferenceState.ONLY_HERE),
        ("this machine", DifferenceState.UNKNOWN_THERE),
    ):
        other = Report(unknown=(UnknownEntry(check=CHECK, subject=subject, reason="NVML: GPU is lost"),))
        assert [row.state for row in findings(one, other)] == [state]
    moved = Report(unknown=(UnknownEntry(check=CHECK, subject="GPU 6", reason="NVML: GPU is lost"),))
    assert [row.state for row in findings(one, moved, {"6": "5"})] == [DifferenceState.UNKNOWN_THERE]


def test_figures_of_a_card_are_compared_with_its_own() -> None:
    one = smoke.machine()
    moved = having(one, gpus=(gpu(0, address="0000:41:00.0", uuid="GPU-x"), *gpus(one)))
    moved = renumbered(moved, list(gpus(moved)))
    runs = tuple(msgspec.structs.replace(run, label=run.label.replace("GPU 0", "GPU 1")) for run in one.smoke.runs)
    found = compared(one, having(moved, smoke__runs=runs)).rows
    assert [row.path for row in found if row.path.startswith("smoke.")] == []


def test_reports_are_aligned_by_address() -> None:
    before = change(NODE, "gpus.6.ecc_uncorrected", 4)
    here, there = (ComparedMachine(title="x", report=check(facts=one)) for one in (without(before, LOST), before))
    found = {row.path: row.state for row in compare(here, there).rows}
    assert found[f"gpus.3 at {gpus(NODE)[LOST].address}"] is DifferenceState.ONLY_THERE
    assert not any(path.startswith(CHECK) for path in found)


def test_two_vendors_share_their_numbers_and_nothing_is_renamed() -> None:
    both = having(NODE, gpus=(*gpus(NODE)[:2], gpu(0, vendor="amd", address="0000:e3:00.0", uuid=None)))
    assert rows(both, both) == {}
    found = rows(both, having(both, gpus=gpus(both)[1:]))
    assert next(path for path in found if path.startswith("gpus.0")) == "gpus.0"


def test_a_name_is_taken_for_a_number_nowhere_else() -> None:
    assert called("PyTorch 2.7 on GPU 3", {"3": "4"}) == "PyTorch 2.7 on GPU 4"
    assert called("GPUs 0-7, the GPU at 0000:03:00.0, GPU 12", {"0": "9", "3": "4", "1": "5"}) == (
        "GPUs 0-7, the GPU at 0000:03:00.0, GPU 12"
    )


def test_numbers_in_the_place_of_uuids_tell_no_card_from_another() -> None:
    """A masked file numbers its UUIDs: where a card is missing, the same number is another card."""
    whole = masked(having(nv.several(3)))
    assert isinstance(whole.gpus, tuple)
    less = masked(msgspec.structs.replace(nv.several(3), gpus=nv.several(3).gpus[1:]))  # type: ignore[index]
    here, there = msgspec.to_builtins(whole), msgspec.to_builtins(less)
    assert there["gpus"][0]["uuid"] == here["gpus"][0]["uuid"]
    align(here, there)
    assert sorted(there["gpus"]) == ["1", "2"]
