"""Fixes where a framework does not import, or dies."""

from gpudoctor.facts import Live
from gpudoctor.judge import Fix
from gpudoctor.knowledge import import_errors
from gpudoctor.remedies.proofs import framework_proof
from gpudoctor.remedies.python import install, manager_of
from gpudoctor.subjects import OnLive
from gpudoctor.views.packages import release


def install_again(on: OnLive) -> tuple[Fix, ...]:
    """What the error's own words ask for, where they are known, then the same version once more with what it needs."""
    hint, proof = import_errors.hint(on.live.import_error or ""), framework_proof(on.python, on.framework.name)
    first = (Fix(hint.fix, action="reinstall-package", verify=proof),) if hint and hint.fix else ()
    says = f"Install it again with what it needs, by {manager_of(on.python)}."
    return (*first, Fix(says, (_again(on),), "reinstall-package", verify=proof))


def after_crash(on: OnLive) -> tuple[Fix, ...]:
    """What to do about a framework whose process dies of a signal."""
    says = "Install it again with what it needs."
    return outside(on.live) or (Fix(says, (_again(on),), "reinstall-package"),)


def outside(live: Live) -> tuple[Fix, ...]:
    """What to do where the signal shows that no package is at fault; nothing for other signals."""
    if live.died == "SIGKILL":
        return (Fix("Give the machine or the container more memory, or end what takes it: dmesg names the killer."),)
    if live.died == "SIGILL":
        says = (
            "Give the virtual machine its host's CPU type (QEMU and Proxmox: host), or use a computer or a build whose "
            "instructions fit: this shows those that the CPU has."
        )
        return (Fix(says, ("lscpu | grep -E 'Model name|Flags'",), impact="none"),)
    return ()


def _again(on: OnLive) -> str:
    """The command that installs the same version once more with what it needs."""
    name, version = on.framework.distribution or on.framework.name, on.framework.version
    spec = f"{name}=={release(version)}" if isinstance(version, str) and version else name
    return install(on.python, spec, force=True)
