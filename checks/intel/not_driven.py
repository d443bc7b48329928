"""An Intel card without a kernel driver bound to it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import system
from gpudoctor.fixes.intel import KERNELS
from gpudoctor.knowledge import intel
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.intel import card_name, intel_cards
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard
from gpudoctor.tasks import as_root, filtered, query


def _first_kernel(on: OnCard) -> str:
    found = intel.family(on.card.device)
    return found.kernel if found else ""


def _is_too_old(on: OnCard) -> bool:
    release, first = known(on.facts.host.kernel.release), _first_kernel(on)
    return bool(first) and release[:1].isdigit() and version(release)[:2] < version(first)


def _logged(on: OnCard) -> tuple[LogEvent, ...]:
    found = events(on.facts, "intel-unsupported", "intel-firmware", "probe-failed")
    return tuple(event for event in found if event.gpu in (None, on.card.address))


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    first = _first_kernel(on)
    proof = query("lspci", "-k", "-s", on.card.address)
    if not first:
        message = (
            f"Install Intel's own kernel modules for Data Center GPUs (DKMS), as described in {KERNELS}, and reboot."
        )
        return (Fix(message, (), "reboot", root=True, needs="reboot", verify=proof),)
    if _is_too_old(on):
        release = on.facts.host.distribution.version
        hwe = on.facts.host.distribution.id == "ubuntu" and isinstance(release, str)
        commands = system.install(on.facts, phrase("linux-generic-hwe-{}", release)) if hwe else ()
        message = f"Boot kernel {first} or newer" + (": Ubuntu's HWE kernel, if it is new enough." if commands else ".")
        return (Fix(message, commands, "reboot", root=True, needs="reboot", verify=proof),)
    name = intel.family(on.card.device)
    module = name.module if name else "i915"
    message = (
        f"Load the module {module} and read its kernel messages; nomodeset on the kernel command line prevents it "
        "from loading."
    )
    return (
        Fix(
            message,
            (as_root("modprobe", module), filtered(query("dmesg", root=True), query("grep", "-iE", "i915|xe "))),
            "reload-module",
            root=True,
            verify=proof,
        ),
    )


@check(
    title="No kernel driver (i915 or xe) is bound to the Intel GPU",
    severity=Severity.WARNING,
    cause="i915 and xe support a card only from the kernel release on that knows its device id; older kernels skip it "
    "or require force_probe. A blacklist, nomodeset or missing firmware keeps the driver from binding to a card that "
    "it knows.",
    fixes=_fixes,
    references=(KERNELS, "https://docs.kernel.org/gpu/xe/index.html"),
    targets=intel_cards,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def not_driven(on: OnCard) -> Problem | None:
    """Nothing is bound to it."""
    if known(on.card.driver) is not None:
        return None
    message = f"{card_name(on.card)} has no kernel driver bound"
    if _is_too_old(on):
        message += f": kernel {known(on.facts.host.kernel.release)} is too old, it needs {_first_kernel(on)} or newer"
    return Problem(f"{message}.", texts(_logged(on)))
