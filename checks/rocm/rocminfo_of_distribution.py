"""The distribution's rocminfo keeps apt from installing AMD's ROCm."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, system
from gpudoctor.knowledge.rocm import rocm
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import rocm_computes
from gpudoctor.queries.repositories import apt_with_rocm
from gpudoctor.tasks import Edit, Tasks, as_root, query

_NAME = "rocminfo"


def _others(facts: Facts) -> str | None:
    """The version of an installed rocminfo that is not AMD's."""
    found = (v for name, v, state in known(facts.amd.packages) if name == _NAME and state[1:2] == "i")
    return next((version for version in found if not re.search(rocm().apt.version, version)), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    apt = rocm().apt
    text = f"Package: *\nPin: release o={apt.origin}\nPin-Priority: 600\n"
    tasks: Tasks = (*system.remove(facts, _NAME), Edit(apt.pin, text=text, root=True), as_root("apt-get", "update"))
    return (
        Fix(
            "Remove the distribution's rocminfo, and make apt prefer AMD's packages; then install ROCm again.",
            (*tasks, *system.install(facts, "rocm-hip-runtime", _NAME)),
            "reinstall-package",
            root=True,
            undo=(Edit(apt.pin, gone=True, root=True),),
            verify=query("apt", "policy", _NAME, "rocm-hip-runtime"),
        ),
    )


@check(
    title="The distribution's rocminfo blocks AMD's ROCm packages",
    severity=Severity.WARNING,
    cause="Ubuntu and Debian have a rocminfo of their own, with a higher version number than AMD's. Without the file "
    "that makes apt prefer AMD's repository, which upgrades of the release switch off, apt installs theirs, and AMD's "
    "rocm-hip-runtime, which needs AMD's, cannot be installed ('Depends: rocminfo (= 1.0.0...)').",
    fixes=_fixes,
    references=("https://github.com/ROCm/legacy-rocm-build/issues/3656", f"{amd.INSTALL}install/quick-start.html"),
    targets=apt_with_rocm,
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def rocminfo_of_distribution(facts: Facts) -> Problem | None:
    """AMD's repository is set up and the installed rocminfo is of another origin; ADVICE where a wheel computes."""
    version = _others(facts)
    if version is None:
        return None
    message = f"rocminfo {version} is the distribution's, and AMD's ROCm packages need AMD's: apt cannot install them."
    return Problem(message, severity=Severity.ADVICE if rocm_computes(facts) else None)
