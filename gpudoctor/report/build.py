"""Makes the report out of facts and verdicts."""

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from gpudoctor.check_engine import Outcome, Verdict
from gpudoctor.facts import Facts, Framework, Gpu, PciDevice, Python
from gpudoctor.facts.text_types import not_run
from gpudoctor.maybe import Maybe, Unknown, UnknownFactError
from gpudoctor.queries.cards import LENDERS
from gpudoctor.queries.driver import driver_cuda, user_version
from gpudoctor.queries.frameworks import not_tested
from gpudoctor.queries.gpu_requests import without_gpu
from gpudoctor.registry import EXPECT, is_rule
from gpudoctor.report import installed
from gpudoctor.report.cpu_gpu_model import CpuGpuEntry
from gpudoctor.report.fixes import entries as fixes_of
from gpudoctor.report.fixes import run_line
from gpudoctor.report.inventory import inventory
from gpudoctor.report.model import (
    Consequence,
    FindingEntry,
    FrameworkEntry,
    GpuEntry,
    MachineEntry,
    PythonEntry,
    Report,
    SmokeEntry,
    Summary,
    UnknownEntry,
)
from gpudoctor.report.renderers.closing import closing
from gpudoctor.root_causes import Finding, findings
from gpudoctor.targets import VENDORS, has_dxg, in_container

T = TypeVar("T")


def build(
    facts: Facts, verdicts: Iterable[Verdict], chosen: bool = False, area: str = "", recorded: bool = False
) -> Report:
    """The report on a machine.

    Args:
        facts: what was found out.
        verdicts: what the checks said.
        chosen: whether only some checks were asked, so that causes may have been passed over.
        area: report only on this area: its findings and what explains them; empty: on everything.
        recorded: whether the facts are of a file: then no interpreter can be chosen.
    """
    everything = list(verdicts)
    found, open_ = findings(everything)
    others = 0
    if area:
        everything, found, open_, others = _narrowed(area, everything, found, open_)
    entries = tuple(_finding(f, facts) for f in found)
    unknown = (*(_failed(*part) for part in facts.failed), *(_unknown(v) for v in open_))
    if area == "smoke":
        from gpudoctor.report.smoke import gaps

        unknown += gaps(facts)
    status = _status(entries, unknown, everything, _without_gpu(facts, area))
    pythons = tuple(_python(p) for p in facts.pythons)
    smoke = _smoke(facts)
    return Report(
        version=facts.version,
        status=status,
        created=facts.created,
        seconds=facts.seconds,
        summary=_summary(everything, entries, unknown),
        machine=_machine(facts),
        python=pythons[0] if pythons else None,
        pythons=pythons,
        gpus=_gpus(facts),
        frameworks=tuple(_framework(p, f) for p in facts.pythons for f in p.frameworks),
        findings=entries,
        unknown=unknown,
        smoke=smoke,
        cpu_gpu=_cpu_gpu(facts, smoke),
        inventory=inventory(facts),
        not_tested=not_tested(facts),
        driver_asked=not not_run(facts.nvidia.nvml.code),
        next=(
            *closing(facts, everything, status, entries, chosen, area or "check", recorded),
            *_elsewhere(others, unknown),
        ),
    )


def _narrowed(
    area: str, verdicts: list[Verdict], found: list[Finding], open_: list[Verdict]
) -> tuple[list[Verdict], list[Finding], list[Verdict], int]:
    """What concerns one area, and how many findings do not."""

    def mine(verdict: Verdict) -> bool:
        return verdict.check.area == area

    kept = [f for f in found if mine(f.root) or any(mine(v) for v in f.consequences)]
    shown = {id(v) for f in kept for v in (f.root, *f.consequences)}
    asked_of = [v for v in verdicts if mine(v) or id(v) in shown]
    return asked_of, kept, [v for v in open_ if mine(v)], len(found) - len(kept)


def _smoke(facts: Facts) -> tuple[SmokeEntry, ...]:
    """What was measured; the limits' tables are read only then."""
    if not facts.smoke.runs:
        return ()
    from gpudoctor.report.smoke import smoke_entries

    return smoke_entries(facts)


def _cpu_gpu(facts: Facts, smoke: tuple[SmokeEntry, ...]) -> tuple[CpuGpuEntry, ...]:
    """The smoke tests' comparison of the GPU with the CPU, where it was run."""
    if not any(test.test == "compare" for entry in smoke for test in entry.tests):
        return ()
    from gpudoctor.report.cpu_gpu import comparisons

    return comparisons(smoke, facts.smoke.price)


def _elsewhere(number: int, unknown: tuple[UnknownEntry, ...]) -> tuple[str, ...]:
    """A hint at what is not shown; where no device could be tested, the reason may be there."""
    if not number:
        return ()
    from gpudoctor.report.smoke import NOT_TESTED

    if any(entry.check == NOT_TESTED for entry in unknown):
        return (f"`gpudoctor check` shows {number} finding{'s' * (number != 1)} that may explain this.",)
    what = "1 finding that does" if number == 1 else f"{number} findings that do"
    return (f"`gpudoctor check` shows {what} not concern these tests.",)


def or_none(fact: Maybe[T]) -> T | None:
    """The fact, or None where it is unknown: for display only."""
    return None if isinstance(fact, Unknown) else fact


def _status(
    found: tuple[FindingEntry, ...], unknown: tuple[UnknownEntry, ...], verdicts: list[Verdict], no_gpu: bool
) -> str:
    """The verdict; that there is no GPU is one of its own, unless something else fails, which may be why."""
    worst = {entry.status for entry in found}
    if failed := {entry.check for entry in found if entry.status == "fail"}:
        return "no-gpu" if failed == {"device.no-gpu"} else "fail"
    if no_gpu:
        return "incomplete" if any(entry.broken for entry in unknown) else "no-gpu"
    if any(entry.essential or entry.broken for entry in unknown) or not asked(verdicts):
        return "incomplete"
    return "warn" if "warn" in worst else "pass"


def _without_gpu(facts: Facts, area: str) -> bool:
    """Whether there is known to be none, also where nobody asked the check that says so (--only, --skip).

    Of smoke tests that somebody ran on the CPU, the verdict is about the CPU.
    """
    if area == "smoke" and facts.smoke.runs and not facts.smoke.instead:
        return False
    try:
        return without_gpu(facts)
    except UnknownFactError:
        return False


def _summary(verdicts: list[Verdict], found: tuple[FindingEntry, ...], unknown: tuple[UnknownEntry, ...]) -> Summary:
    count = Counter(entry.status for entry in found)
    everything = {v.check.id for v in verdicts}
    return Summary(
        fail=count["fail"],
        warn=count["warn"],
        advice=count["advice"],
        consequences=sum(len(entry.consequences) for entry in found),
        unknown=sum(not entry.broken for entry in unknown),
        passed=len(asked(verdicts) - {v.check.id for v in verdicts if v.outcome not in WITHOUT_PROBLEM}),
        skipped=len(everything - asked(verdicts)),
        broken=sum(entry.broken for entry in unknown),
    )


WITHOUT_PROBLEM = (Outcome.PASS, Outcome.SKIPPED)


def asked(verdicts: list[Verdict]) -> set[str]:
    """The checks for which this machine has something to judge."""
    return {v.check.id for v in verdicts if v.outcome is not Outcome.SKIPPED}


def entry_of(verdict: Verdict, facts: Facts) -> FindingEntry:
    """A problem as a finding by itself, without what follows from it."""
    check, problem = verdict.check, verdict.problem
    return FindingEntry(
        check=check.id,
        status=verdict.severity.value,
        subject=verdict.about.label,
        title=check.title,
        message=verdict.message,
        cause=(problem.cause if problem else None) or check.cause,
        evidence=problem.evidence if problem else (),
        fixes=fixes_of(verdict.fixes, facts),
    )


def _finding(found: Finding, facts: Facts) -> FindingEntry:
    check, entry = found.root.check, entry_of(found.root, facts)
    return msgspec.structs.replace(
        entry,
        status=found.severity.value,
        run="" if check.area == EXPECT else run_line(check.id, entry.fixes, facts),  # only who read its file can
        consequences=tuple(
            Consequence(check=v.check.id, message=v.message, status=v.severity.value, subject=v.about.label)
            for v in found.consequences
        ),
        affects=check.affects,
        ruled_out=found.ruled_out,
        references=check.references,
    )


def never_asked(verdict: Verdict) -> bool:
    """Whether --root itself leaves a question out, as --quick leaves out frameworks; not one that somebody asked."""
    return not_run(Unknown(verdict.message)) and not is_rule(verdict.check.id)


def _unknown(verdict: Verdict) -> UnknownEntry:
    return UnknownEntry(
        check=verdict.check.id,
        subject=verdict.about.label,
        reason=verdict.message,
        essential=verdict.check.essential and not never_asked(verdict),
        broken=verdict.outcome is Outcome.BROKEN,
    )


def _failed(part: str, why: str) -> UnknownEntry:
    """A probe that failed is a fault of ours like a check that is broken: nobody may read the rest as well."""
    return UnknownEntry(check="probe", subject=part, reason=why, broken=True)


def _machine(facts: Facts) -> MachineEntry:
    host, kernel, nvidia = facts.host, facts.nvidia.kernel, facts.nvidia
    of_windows = has_dxg(facts) or host.system == "Windows"
    return MachineEntry(
        system=host.system,
        distribution=or_none(host.distribution.name),
        kernel=or_none(host.kernel.release),
        architecture=or_none(host.architecture),
        platform=or_none(host.platform),
        container="kubernetes" if host.kubernetes is True else or_none(host.container),
        product=or_none(host.product),
        driver=or_none(kernel.loaded) or (or_none(nvidia.nvml.driver_version) if of_windows else None),
        driver_flavor=or_none(kernel.flavor),
        driver_libraries=user_version(facts),
        driver_cuda=or_none(driver_cuda(facts)),
        rocm=or_none(facts.amd.rocm),
        amdgpu=or_none(facts.amd.version),
        toolkit=or_none(facts.toolkits.home.nvcc),
        toolkits=installed.toolkits(facts),
        cudnn=installed.system_libraries(facts, "cuDNN"),
        nccl=installed.system_libraries(facts, "NCCL"),
        rocm_releases=installed.rocm_releases(facts),
    )


def _python(python: Python) -> PythonEntry:
    return PythonEntry(
        path=python.path,
        found_by=python.found_by,
        version=or_none(python.version),
        kind=or_none(python.kind),
        manager=or_none(python.manager),
        error=python.error,
    )


def _gpus(facts: Facts) -> tuple[GpuEntry, ...]:
    """What drivers list, then what only the PCI bus shows."""
    listed = tuple(_gpu(facts, g) for g in or_none(facts.gpus) or ())
    known = {g.address for g in listed}
    silent = [
        d for d in or_none(facts.pci) or () if d.role == "gpu" and d.vendor in OF_VENDOR and d.address not in known
    ]
    return (*listed, *(_silent(facts, len(listed) + i, d) for i, d in enumerate(silent)))


# Vendors whose GPUs a framework of ours can use; others (a server's ASPEED VGA) are no GPUs for computing.
OF_VENDOR = {code: name for name, code in VENDORS.items()}


def _silent(facts: Facts, index: int, device: PciDevice) -> GpuEntry:
    return GpuEntry(
        index=index,
        vendor=OF_VENDOR[device.vendor],
        name=or_none(device.name),
        address=device.address,
        capability=or_none(device.capability),
        gfx=or_none(device.gfx),
        status=_without_list(facts, device),
    )


def _without_list(facts: Facts, device: PciDevice) -> str:
    """What drives a GPU that is in no list of a driver's: Intel's are in none, and those that nouveau drives.

    Of others only a driver that was asked is known not to list one.
    """
    bare = device.vendor == VENDORS["intel"] or device.driver == "nouveau"
    nvidia = device.vendor == VENDORS["nvidia"] and not bare
    driver = facts.nvidia.kernel.loaded if nvidia else device.driver
    if not isinstance(driver, str) or (driver in LENDERS or device.driver in LENDERS):
        return "no driver"
    if bare:
        return f"driver {driver}"
    return "unknown" if not_run(facts.gpus) else "not in container" if in_container(facts) else "not listed"


def _gpu(facts: Facts, gpu: Gpu) -> GpuEntry:
    # /sys of a container shows all of the host's, also those whose /dev/kfd was not passed in.
    closed = gpu.vendor == "amd" and in_container(facts) and facts.amd.kfd == ()
    return GpuEntry(
        index=gpu.index,
        vendor=gpu.vendor,
        name=or_none(gpu.name),
        address=or_none(gpu.address),
        capability=or_none(gpu.capability),
        gfx=or_none(gpu.gfx),
        memory=or_none(gpu.memory),
        status="not in container" if closed else or_none(gpu.status),
    )


def _framework(python: Python, framework: Framework) -> FrameworkEntry:
    live = framework.live
    return FrameworkEntry(
        name=framework.name,
        python=python.path,
        version=or_none(framework.version),
        variant=or_none(framework.variant),
        built_for=or_none(framework.cuda) or or_none(framework.hip),
        sees=or_none(live.count) if live and or_none(live.available) is not False else 0 if live else None,
        error=(live.import_error or or_none(live.error)) if live else None,
        libraries=installed.libraries(framework),
    )
