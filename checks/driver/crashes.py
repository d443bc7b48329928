"""A driver library crashes the program that calls it."""

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
        message = "Recreate the container from a clean image, so that the host's libraries are mounted again."
        return (Fix(message, (), "restart-process", needs="restart of the container", verify=query("nvidia-smi")),)
    names = [n for n in module.driver_packages(facts) if "nvidia" in n or "cuda" in n][:12] or library_packages(facts)
    message = "Reinstall the driver's packages, so that all libraries are complete and of one version, then reboot."
    commands = system.reinstall(facts, *names) if names else ()
    return (Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")),)


@check(
    title="NVIDIA driver library crashes",
    severity=Severity.ERROR,
    cause="libcuda or NVML crashed the child process that called it: damaged or mixed driver files, a preloaded "
    "library, or a memory limit (ulimit -v).",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",),
    targets=nvidia_machine,
    caused_by=(*DEAD, *VERSIONS, *SURROUNDINGS),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def crashes(facts: Facts) -> Problem | None:
    """The child that called NVML or libcuda died by a signal."""
    cuda, nvml = facts.nvidia.cuda, facts.nvidia.nvml
    if cuda.died is None and nvml.died is None:
        if isinstance(cuda.code, Unknown) and cuda.hung is None:
            known(cuda.code)
        return None
    which = " and ".join(name for name, died in (("libcuda", cuda.died), ("NVML", nvml.died)) if died)
    died = present(cuda.died or nvml.died)
    # mmap(2): SIGBUS is the access to a part of a mapping beyond the end of the file.
    short = (
        "The file is shorter than its own headers state: it was truncated by a full disk or an interrupted "
        "installation."
    )
    return Problem(f"{which} crashed when it was called ({died}).", cause=short if died == "SIGBUS" else None)
