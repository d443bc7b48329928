"""A release of the GPU's firmware with a known bug."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import amd
from gpudoctor.fixes.system import family_of
from gpudoctor.knowledge import packages
from gpudoctor.knowledge.regressions import Regression, bugs
from gpudoctor.maybe import Unknown, UnknownFactError, known, known_or, present
from gpudoctor.queries.amd_boards import OnBoard, boards_of_programs, since_loaded
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container


def _found(on: OnBoard) -> tuple[str, str, Regression] | None:
    """The package with the firmware, its version, and the bug that this GPU has with it."""
    if in_container(on.facts):
        raise UnknownFactError("the host's firmware packages are not visible from a container")
    family = family_of(on.facts)
    if on.gfx is None:
        known(on.card.gfx)
    if family is None or on.gfx is None or isinstance(known(on.facts.amd.version), str):  # AMD's own driver has its own
        return None
    name = packages.amd_firmware_package(family, known_or(on.facts.host.distribution.id, ""))
    listed = {own: version for own, version, state in known(on.facts.amd.packages) if state[1:2] == "i"}
    version = listed.get(name) if name else None
    release = version.partition("-")[0].partition(".")[0] if version else ""
    rows = bugs("linux-firmware", release, on.gfx) if release.isdigit() else ()
    bug = next((row for row in rows if not row.sign or any(row.sign in event.text for event in _logged(on))), None)
    return (name, version, bug) if version and bug else None


def _logged(on: OnBoard) -> tuple[LogEvent, ...]:
    """What the log has of this GPU that such a bug may explain; nothing where it cannot be read."""
    if isinstance(on.facts.log.events, Unknown):
        return ()
    return since_loaded(on, "amdgpu-fault", "kfd-hang", "driver-error")


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    bug = found[2]
    newer = amd.newer_firmware(on.facts, f"Install the firmware of release {bug.fixed} or newer.")
    return (newer, *amd.older_firmware(on.facts, bug.good))


@check(
    title="GPU firmware release with a known bug (linux-firmware, MES)",
    severity=Severity.WARNING,
    cause="amdgpu loads the GPU's firmware from the distribution's firmware package. Some releases of linux-firmware "
    "have firmware of the scheduler (MES), power management (SMU) or display (DMCUB) with which programs end in "
    "'Memory access fault by GPU node', or the GPU hangs; the releases before and after work.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/5724",
        "https://github.com/kyuz0/amd-strix-halo-toolboxes/issues/37",
    ),
    targets=boards_of_programs,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def firmware_regression(on: OnBoard) -> Problem | None:
    """The release of the firmware's package is one that the table names for this GPU."""
    found = _found(on)
    if found is None:
        return None
    name, version, bug = found
    message = f"{name} {version} has a known bug: on {present(on.gfx)} {bug.what}."
    return Problem(message, texts(tuple(e for e in _logged(on) if bug.sign or e.kind != "driver-error")[-2:]))
