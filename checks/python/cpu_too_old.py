"""An installed package needs instructions that this CPU, or the virtual machine's CPU type, does not have."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.knowledge.cpu_features import CpuNeed, need
from gpudoctor.maybe import known, present
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import OnPython, pythons


def _needs(on: OnPython) -> list[tuple[str, CpuNeed]]:
    """What is installed by pip and needs more than every x86-64 has, with its version."""
    known(on.python.packages)
    found = ((p, need(p.name, numbers(p.version))) for p in packages_of(on.python) if p.installer != "conda")
    return [(p.version, row) for p, row in found if row]


def _missing(on: OnPython) -> list[tuple[str, CpuNeed]]:
    needs = _needs(on)
    flags = known(on.facts.host.cpu_flags) if needs else None
    return [] if flags is None else [(v, row) for v, row in needs if not set(row.features) <= set(flags)]


def _in_guest(on: OnPython) -> bool:
    """Whether this CPU is a hypervisor's; the flag of the CPU itself is enough to know that."""
    return isinstance(on.facts.host.virtual, str)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    # Every machine with a Python reads this check, and few need a fix: they are imported for those alone.
    from gpudoctor.fixes.cpu_type import host_cpu
    from gpudoctor.fixes.python import install

    missing = [row for _, row in _missing(on)]
    older = [f"{row.package}<{row.since}" for row in missing if row.package == "numpy"]
    fixes = [host_cpu()] if _in_guest(on) else []
    if older:
        fixes.append(
            Fix(
                "Install the last release for older CPUs.",
                (install(on.python, *older),),
                "reinstall-package",
            )
        )
    if any(row.package != "numpy" for row in missing) and not _in_guest(on):
        fixes.append(Fix("Use a machine whose CPU has AVX, or build the package from source for this CPU."))
    return tuple(fixes)


@check(
    title="CPU lacks instructions that an installed package needs",
    severity=Severity.ERROR,
    cause="Wheels are compiled for a baseline of CPU instructions (x86-64-v2, AVX). On a CPU without them the import "
    "raises an error, or dies with SIGILL (illegal instruction). Virtual machines show a CPU type that may have fewer "
    "than the real CPU: QEMU's and Proxmox's kvm64 and qemu64 have neither SSE4 nor AVX.",
    fixes=_fixes,
    references=(
        "https://github.com/NixOS/nixpkgs/pull/504426",
        "https://github.com/jax-ml/jax/issues/31723",
        "https://www.tensorflow.org/install/pip",
        "https://pve.proxmox.com/pve-docs/chapter-qm.html#qm_cpu",
    ),
    targets=pythons,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def cpu_too_old(on: OnPython) -> Problem | None:
    """The flags of /proc/cpuinfo, against the baseline of the installed releases."""
    missing = _missing(on)
    if not missing:
        return None
    flags = set(present(on.facts.host.cpu_flags))
    listed = ", ".join(f"{row.package} {found} needs {row.name}" for found, row in missing)
    lacks = sorted({feature for _, row in missing for feature in row.features} - flags)
    what = "This virtual machine's CPU" if _in_guest(on) else "This CPU"
    return Problem(f"{listed}. {what} lacks {', '.join(lacks)}.")
