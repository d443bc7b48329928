"""ECC, spare rows, on-chip memory, the InfoROM and confidential computing: what ails them, and what only looks so."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Facts
from tests.builders import ask, nvidia_host, plain_host
from tests.checks.healthy_nvidia import H100, several
from tests.checks.nvidia_machines import WHY, event, failing, having, logged, xid

A = "0000:01:00.0"
NAME = "GPU 0 (NVIDIA H100 80GB HBM3)"


def h100(**changes: Any) -> Facts:
    """A machine with one H100."""
    return several(1, changes=H100 | changes)


def locked(**changes: Any) -> Facts:
    """A machine in confidential computing mode on which CUDA does not start."""
    plain = {"nvidia__cuda__code": 802, "nvidia__nvml__confidential": True, "nvidia__nvml__accepts_work": False}
    return having(**(plain | changes))


def test_memory_that_keeps_failing_is_replaced() -> None:
    (check,) = catalogue.load(["device.row-remap-pending"])
    first = {rows: run(check, h100(remap_pending=True, remapped_uncorrected=rows))[0].fixes[0] for rows in (1, 7, 8)}
    assert [first[rows].action for rows in (1, 7, 8)] == ["reset-gpu", "reset-gpu", "replace-hardware"]


@pytest.mark.parametrize(
    ("corrected", "uncorrected", "codes", "word"),
    [
        (1, 0, (63,), "Correctable errors recurred"),
        (1, 1, (63,), "The GPU had an uncorrectable memory error"),
        (0, 1, (), "The GPU had an uncorrectable memory error"),
        (1, 0, (48, 63), "The GPU had an uncorrectable memory error"),
        (0, 0, (), "an uncorrectable error, or correctable ones"),
        (WHY, 0, (), "an uncorrectable error, or correctable ones"),
        (1, WHY, (), "an uncorrectable error, or correctable ones"),
    ],
)
def test_the_cause_of_a_remapping_is_what_nvml_counts(
    corrected: object, uncorrected: object, codes: tuple[int, ...], word: str
) -> None:
    facts = h100(remap_pending=True, remapped_corrected=corrected, remapped_uncorrected=uncorrected)
    (check,) = catalogue.load(["device.row-remap-pending"])
    problem = run(check, logged(*(xid(code) for code in codes), facts=facts))[0].problem
    assert problem is not None
    assert word in (problem.cause or check.cause)


@pytest.mark.parametrize(("provider", "command"), [("aws", "aws s3 cp"), (None, ""), ("azure", "az vm extension set")])
def test_a_license_daemon_that_is_missing(provider: str | None, command: str) -> None:
    (check,) = catalogue.load(["device.vgpu-unlicensed"])
    facts = having(nvidia__kernel__license="Unlicensed", nvidia__kernel__gridd=None, cloud__provider=provider)
    fixes = run(check, facts)[0].fixes
    assert len(fixes) == 2
    assert " ".join(fixes[0].commands).startswith(command)


ILL = [
    (
        "device.vgpu-unlicensed",
        failing(46, nvidia__kernel__license="Unlicensed (Restricted)", nvidia__kernel__gridd=None),
        "This vGPU's license status is 'Unlicensed (Restricted)'. nvidia-gridd, the license daemon of the GRID driver, "
        "is not installed.",
    ),
    ("device.ecc-off", h100(ecc=False, ecc_pending=False), f"ECC is off on {NAME}: memory errors go unnoticed."),
    (
        "device.sram-errors",
        h100(sram_threshold=True, ecc_uncorrected_total=12),
        f"{NAME} has had more uncorrectable SRAM errors than NVIDIA tolerates (12 uncorrectable errors in its "
        "lifetime).",
    ),
    (
        "device.sram-errors",
        h100(sram_threshold=True),
        f"{NAME} has had more uncorrectable SRAM errors than NVIDIA tolerates.",
    ),
    (
        "device.spare-rows-used-up",
        h100(banks_without_spares=1, remapped_uncorrected=8),
        f"{NAME} has no spare rows left in one bank of its memory (8 rows are remapped after uncorrectable errors).",
    ),
    (
        "device.spare-rows-used-up",
        h100(banks_without_spares=3),
        f"{NAME} has no spare rows left in 3 banks of its memory.",
    ),
    (
        "device.inforom-corrupted",
        h100(ecc=None, inforom=False),
        f"NVML reports that the InfoROM of {NAME} is corrupted.",
    ),
    ("device.inforom-corrupted", h100(inforom=False), f"NVML reports that the InfoROM of {NAME} is corrupted."),
    (
        "device.ecc-corrected-often",
        logged(xid(92), facts=h100(ecc_corrected=48211)),
        f"{NAME} at {A} has corrected 48211 memory errors since the driver was loaded (Xid 92).",
    ),
    (
        "device.ecc-corrected-often",
        logged(xid(92), facts=h100(ecc_corrected=WHY)),
        f"{NAME} at {A} has corrected very many memory errors since the driver was loaded (Xid 92).",
    ),
    (
        "device.confidential-not-ready",
        locked(),
        "Confidential computing is on and the GPUs are not set ready, so CUDA cannot start (cuInit 802).",
    ),
    (
        "device.confidential-not-ready",
        logged(event("confidential-guest"), facts=failing(802, nvidia__nvml__confidential=WHY)),
        "cuInit returns 802 in a confidential virtual machine without NVSwitch: the GPU is not set ready.",
    ),
    (
        "device.confidential-not-ready",
        logged(
            event("confidential-guest"),
            facts=failing(802, nvidia__nvml__confidential=WHY, gpus__0__fabric_state="completed"),
        ),
        "cuInit returns 802 in a confidential virtual machine, and every GPU has joined the NVLink fabric: the GPUs "
        "are not set ready.",
    ),
]

WELL = [
    ("device.ecc-off", h100(ecc=False, ecc_pending=True)),  # switched on already
    ("device.ecc-off", h100(ecc=None, ecc_pending=None)),
    ("device.ecc-off", h100(ecc=False, ecc_pending=False, virtualization="vgpu")),
    ("device.ecc-off", h100(ecc=False, ecc_pending=False, capability="8.6")),  # GDDR: a choice with a price
    ("device.ecc-off", h100()),
    ("device.sram-errors", h100(ecc=None, sram_threshold=WHY)),
    ("device.sram-errors", h100(ecc=False, sram_threshold=None)),
    ("device.sram-errors", h100(sram_threshold=None)),
    ("device.spare-rows-used-up", h100(ecc=None, banks_without_spares=WHY)),
    ("device.spare-rows-used-up", h100(banks_without_spares=None)),
    ("device.inforom-corrupted", h100(ecc=None, inforom=WHY)),
    ("device.inforom-corrupted", h100(inforom=None)),
    ("device.ecc-corrected-often", h100(ecc_corrected=48211)),
    ("device.confidential-not-ready", locked(nvidia__cuda__code=0)),
    ("device.confidential-not-ready", locked(nvidia__nvml__accepts_work=True)),
    (
        "device.confidential-not-ready",
        logged(event("confidential-guest"), facts=locked(nvidia__nvml__confidential=None)),
    ),
    ("device.confidential-not-ready", locked(nvidia__nvml__confidential=None, nvidia__nvml__accepts_work=None)),
]

UNKNOWN = [
    ("device.ecc-off", h100(ecc=WHY)),
    ("device.ecc-off", h100(ecc=False, ecc_pending=WHY)),
    ("device.ecc-off", h100(ecc=False, capability=WHY)),
    ("device.sram-errors", h100(ecc=WHY)),
    ("device.sram-errors", h100(sram_threshold=WHY)),
    ("device.spare-rows-used-up", h100(ecc=WHY)),
    ("device.spare-rows-used-up", h100(banks_without_spares=WHY)),
    ("device.inforom-corrupted", h100(ecc=WHY)),
    ("device.inforom-corrupted", h100(inforom=WHY)),
    ("device.confidential-not-ready", locked(nvidia__cuda__code=WHY)),
    ("device.confidential-not-ready", locked(nvidia__nvml__confidential=WHY)),
    (
        "device.confidential-not-ready",
        logged(
            event("confidential-guest"),
            facts=locked(nvidia__nvml__confidential=WHY, gpus__0__fabric_state="in-progress"),
        ),
    ),
    ("device.confidential-not-ready", locked(nvidia__nvml__accepts_work=WHY)),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


@pytest.mark.parametrize("check", sorted({check for check, _, _ in ILL}))
def test_a_healthy_machine_and_one_without_gpus_have_none(check: str) -> None:
    one = catalogue.load([check])[0]
    assert {outcome for facts in (nvidia_host(), h100()) for outcome, _ in ask(one, facts)} == {"pass"}
    assert ask(one, plain_host()) == [("skipped", "")]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_only_looks_like_it_is_left_alone(check: str, facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(catalogue.load([check])[0], facts)} == {"pass"}


@pytest.mark.parametrize(("check", "facts"), UNKNOWN)
def test_what_nobody_could_see_is_unknown(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("unknown", "nobody could look")]


def test_a_log_shows_the_errors_of_the_damaged_inforom() -> None:
    one = catalogue.load(["device.inforom-corrupted"])[0]
    [verdict] = run(one, logged(xid(125), xid(31), facts=h100(inforom=False)))
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("NVRM: Xid (PCI:0000:01:00): 125, pid=1",)
