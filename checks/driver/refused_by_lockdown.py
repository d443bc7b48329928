"""Kernel lockdown or enforced signatures reject NVIDIA's unsigned module, without Secure Boot."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import BUILD, DEAD, OTHER_DRIVERS
from gpudoctor.queries.driver import STRICT, first_module, not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of
from gpudoctor.tasks import cmd, query, sentence


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    line = known_or(facts.host.kernel.command_line, "")
    by_line = "lockdown=" in line or "sig_enforce=1" in line
    signed = Fix(
        "Use a variant of the operating system or a driver package whose NVIDIA modules are signed for this kernel "
        "(Bottlerocket: the -nvidia variant, which has them in-tree).",
        (),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )
    where = "the kernel command line (lockdown=, module.sig_enforce=)" if by_line else "this system's settings"
    bottlerocket = facts.host.distribution.id == "bottlerocket"
    off = Fix(
        f"Remove lockdown from {where} and reboot."
        if not bottlerocket
        else "Set settings.kernel.lockdown to none, and reboot.",
        (cmd("apiclient", "set", "kernel.lockdown=none"), cmd("apiclient", "reboot")) if bottlerocket else (),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(cmd("apiclient", "set", "kernel.lockdown=integrity"),)
        if bottlerocket
        else sentence("Restore it and reboot."),
        verify=query("cat", "/sys/kernel/security/lockdown"),
    )
    return (signed, off)


@check(
    title="Kernel lockdown rejects NVIDIA's unsigned kernel module",
    severity=Severity.ERROR,
    cause="In lockdown (integrity or confidentiality), or with module.sig_enforce, the kernel loads only signed "
    "modules and returns EPERM (Operation not permitted) for all others.",
    fixes=_fixes,
    references=(
        "https://man7.org/linux/man-pages/man7/kernel_lockdown.7.html",
        "https://github.com/bottlerocket-os/bottlerocket/issues/4218",
    ),
    targets=not_wsl,
    caused_by=(*DEAD, *OTHER_DRIVERS, *BUILD, "driver.refused-by-secure-boot"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def refused_by_lockdown(facts: Facts) -> Problem | None:
    """The log reports that lockdown rejected it, or lockdown is strict and the module is not signed."""
    if known(facts.nvidia.kernel.loaded) is not None or not cards_of(facts, "nvidia"):
        return None
    refused, found = events(facts, "lockdown-refused"), first_module(facts)
    unsigned = found is not None and found.signer is None
    enforced = "module.sig_enforce=1" in known_or(facts.host.kernel.command_line, "").split()
    if refused:
        return Problem(_message(facts, ", as the kernel log shows"), texts((*events(facts, "locked-down"), *refused)))
    if unsigned and enforced:
        return Problem(
            "NVIDIA's module is not signed, and with module.sig_enforce=1 the kernel loads only signed modules."
        )
    if unsigned and known(facts.host.kernel.lockdown) in STRICT:
        return Problem(_message(facts, ": the module is not signed"), texts(events(facts, "locked-down")))
    return None


def _message(facts: Facts, why: str) -> str:
    mode = known_or(facts.host.kernel.lockdown, None)
    name = f" ({mode})" if mode in STRICT else ""
    return f"The kernel is in lockdown{name} and refuses to load NVIDIA's unsigned module{why}."
