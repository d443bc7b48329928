"""Known bugs of the running kernel, and the installed kernels that do not have them, from facts alone."""

from gpudoctor.digits import numbers_in
from gpudoctor.facts import Facts
from gpudoctor.knowledge.regressions import Regression, bugs
from gpudoctor.maybe import known_or
from gpudoctor.targets import in_container


def running_kernel(facts: Facts) -> str:
    """The running kernel's release; empty where it is unknown or no number."""
    release = known_or(facts.host.kernel.release, "")
    return release if release[:1].isdigit() else ""


def kernel_bug(facts: Facts, lines: tuple[str, ...], *gpus: str) -> Regression | None:
    """The known bug of the running kernel's own driver that lines of its log show.

    Args:
        facts: the machine.
        lines: what the log has about the GPU.
        gpus: what its GPU is: the gfx target, the module that drives it.
    """
    release = running_kernel(facts)
    found = bugs("kernel", release, *gpus) if release else ()
    return next((row for row in found if any(row.sign in line for line in lines)), None)


def kernel_without(facts: Facts, bug: Regression) -> str | None:
    """The newest other installed kernel that does not have a bug; None where there is none, or they are unknown."""
    others = known_or(facts.host.kernel.others, ())
    found = (name for name in others if not (bug.has(name) if bug.component == "kernel" else bug.shows_with(name)))
    return max(found, key=numbers_in, default=None)


def known_kernel(facts: Facts, bug: Regression) -> str:
    """A sentence about a known bug of the running kernel: "Kernel 6.17.9 ... has a known bug: ...; 6.17.7 works."."""
    better = [f"up to {bug.good}" if bug.good else "", f"from {bug.fixed} on" if bug.fixed else ""]
    works = " and ".join(filter(None, better))
    return f"Kernel {running_kernel(facts)} has a known bug: {bug.what}. Kernels {works} work."


def dkms_bug(facts: Facts, lines: tuple[str, ...], *gpus: str) -> Regression | None:
    """The known bug that the loaded amdgpu of AMD's package has with the running kernel, and that lines show.

    Args:
        facts: the machine.
        lines: what the log, or a program, has about the GPU.
        gpus: the gfx targets of its GPUs.
    """
    kernel = running_kernel(facts)
    if not kernel or not isinstance(facts.amd.version, str):
        return None
    packages = known_or(facts.amd.packages, ())
    own = (text for name, text, state in packages if name == "amdgpu-dkms" and state[1:2] == "i")
    # The host's package is not visible from a container; its release begins with the version of the loaded module.
    loaded = facts.amd.version if in_container(facts) else ""
    release = next(own, loaded).rpartition(":")[2].partition("-")[0]
    found = bugs("amdgpu-dkms", release, *gpus, kernel=kernel) if release[:1].isdigit() else ()
    return next((row for row in found if any(row.sign in line for line in lines)), None)
