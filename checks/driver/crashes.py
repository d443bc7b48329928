"""A library of the driver ends the program that calls it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.fixes.driver import library_packages
from gpudoctor.maybe import Unknown, known, present
from gpudoctor.queries.cause_groups import DEAD, SURROUNDINGS, VERSIONS
from gpudoctor.targets import in_container, nvidia_machine
from gpudoctor.tasks import query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        message = "Start the container again from a clean image, so that the host's libraries are mounted anew."
        return (Fix(message, (), "restart-process", needs="restart of the container", verify=query("nvidia-smi")),)
    names = [n for n in module.driver_packages(facts) if "nvidia" in n or "cuda" in n][:12] or library_packages(facts)
    message = "Install the driver's packages again, so that all libraries are whole and of one version, then restart."
    commands = system.reinstall(facts, *names) if names else ()
    return (Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")),)


@check(
    title="A library of NVIDIA's driver crashes",
    severity=Severity.ERROR,
    cause="libcuda or NVML ended the child process that called it: damaged or mixed driver files, a preloaded "
    "library, or a "
    "memory limit (ulimit -v).",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",),
    targets=nvidia_machine,
    caused_by=(*DEAD, *VERSIONS, *SURROUNDINGS),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def crashes(facts: Facts) -> Problem | None:
    """The child that asked NVML or libcuda died by a signal."""
    cuda, nvml = facts.nvidia.cuda, facts.nvidia.nvml
    if cuda.died is None and nvml.died is None:
        if isinstance(cuda.code, Unknown) and cuda.hung is None:
            known(cuda.code)
        return None
    which = " and ".join(name for name, died in (("libcuda", cuda.died), ("NVML", nvml.died)) if died)
    died = present(cuda.died or nvml.died)
    # mmap(2): SIGBUS is the access to a part of a mapping beyond the end of the file.
    short = "The file ends before its own headers say: it was cut short by a full disk or an interrupted installation."
    return Problem(f"{which} crashed when it was called ({died}).", cause=short if died == "SIGBUS" else None)
