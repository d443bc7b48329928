"""The GPU System Processor does not start, or its firmware stopped responding."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import module
from gpudoctor.fixes.card_firmware import power_cycle
from gpudoctor.fixes.driver import best_branch, branch_of, install_driver, release_before
from gpudoctor.fixes.module_option import set_option
from gpudoctor.fixes.reset import as_required, hangs, reboot_instead, reset_commands
from gpudoctor.fixes.stay_on import where_it_is_set
from gpudoctor.knowledge.regressions import Regression, regressions
from gpudoctor.knowledge.rm_init import failure
from gpudoctor.maybe import known_or, phrase, text_of
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.cause_groups import UNFIT
from gpudoctor.queries.driver import module_flavor
from gpudoctor.queries.kernel_log import texts
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, query

_REFUSED = (
    "The driver loads its firmware into the GPU's protected memory (WPR2), and the firmware ended its own start with "
    "an error: usually a bug of this release's firmware on this GPU or laptop. The memory stays protected, so each "
    "attempt after the first one fails because WPR2 is up, which hides the first error."
)
_CYCLE = (
    "Shut down and disconnect the power (a laptop: hold the power button for 15 seconds, charger unplugged), then "
    "cold-boot: only a power cycle or reset clears the GPU's protected memory."
)

_KINDS = ("gsp-wpr2", "gsp-refused", "gsp-failed", "gfw-boot")


def _logged(on: OnAddress) -> tuple[LogEvent, ...]:
    if on.gpu is not None and on.answers and on.gpu.recovery_action == "none":
        return ()
    stuck = () if on.answers else on.events(*_KINDS)
    return (*stuck, *on.xids(119, 120))


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    if in_container(on.facts):
        message = "On the host: reset the GPU, or reboot the host if nvidia-smi hangs there."
        return (module.on_the_host(message, *((as_root("reboot"),) if hangs(on.facts) else reset_commands(on))),)
    logged = _logged(on)
    newer = _newer(on)
    if any(e.kind == "xid" for e in logged) and hangs(on.facts):
        return (reboot_instead(), *newer, *where_it_is_set(on.facts), *_without_gsp(on))
    if any(e.kind == "xid" for e in logged):
        message = "Stop the programs that use the GPU and reset it; a reboot helps too."
        return (as_required(on, message, query("nvidia-smi")), *newer, *where_it_is_set(on.facts), *_without_gsp(on))
    cycle = power_cycle(on.facts, _CYCLE)
    return (_other_release(on), cycle) if _refused(on) else (cycle, *newer)


def _refused(on: OnAddress) -> bool:
    """Whether the firmware's own start failed first: then WPR2 is up because of that, in each attempt after it."""
    codes, first = _codes(on), _first(on)
    if first is None or first.kind == "gsp-refused":
        return first is not None
    return first.kind == "gsp-failed" and bool(codes) and failure(codes[0]).kind == "firmware"


def _first(on: OnAddress) -> LogEvent | None:
    """What was logged first; newer drivers try four times in one go, and report only the last attempt's number."""
    return next(iter(on.events(*_KINDS)), None)


def _sign(on: OnAddress) -> str:
    """What the table of known bugs calls the first failure."""
    first, codes = _first(on), _codes(on)
    if first is not None and first.kind == "gsp-refused":
        return f"Booter {first.what['code']}" if "code" in first.what else "0x62:0x1f"
    return codes[0].rpartition(":")[0] if codes else ""


def _codes(on: OnAddress) -> tuple[str, ...]:
    """RmInitAdapter's numbers in the order of the log."""
    return tuple(e.what["code"] for e in on.events("rm-init-failed") if "code" in e.what)


def _known(on: OnAddress) -> tuple[Regression, ...]:
    """The known bugs of the loaded driver that begin with what is logged here."""
    release, sign = known_or(on.facts.nvidia.kernel.loaded, None), _sign(on)
    generation = text_of(on.card.generation) if on.card is not None else ""
    return regressions("nvidia", release, generation, sign) if release and sign else ()


def _other_release(on: OnAddress) -> Fix:
    """Another release has other firmware; which one is good, where that is known."""
    good = next((row.good for row in _known(on) if row.good), None)
    named = f" {good} is known to work on GPUs with this error." if good else ""
    message = (
        "Install another release of the driver, which has other GSP firmware: the one with which this GPU worked, or "
        f"an older branch.{named} Power off instead of rebooting, so that the GPU's protected memory is cleared, and "
        "keep updates from replacing the release."
    )
    return release_before(on.facts, message)


def _branch(on: OnAddress) -> int | None:
    return branch_of(known_or(on.facts.nvidia.kernel.loaded, None))


def _newer(on: OnAddress) -> tuple[Fix, ...]:
    have, best = _branch(on), best_branch(on.facts)
    if have is None or best is None or best <= have:
        return ()
    return (
        install_driver(
            on.facts, best, message=f"If it happens again: install driver branch {best}, with newer GSP firmware."
        ),
    )


def _without_gsp(on: OnAddress) -> tuple[Fix, ...]:
    """Only the proprietary modules can work without the GSP."""
    if module_flavor(on.facts) != "proprietary":
        return ()
    message = "Run without the GSP firmware, which the proprietary module can do on GPUs before Blackwell"
    return (set_option(on.facts, message, "NVreg_EnableGpuFirmware=0", "nvidia-gsp"),)


@check(
    title="GPU System Processor (GSP) failed",
    severity=Severity.ERROR,
    cause="Since Turing the driver's firmware runs on the GPU System Processor (GSP). It refused to start, because "
    "the GPU was left in a bad state (WPR2 already up), or it stopped responding (Xid 119, 120).",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1104",
        "https://github.com/ublue-os/bazzite/issues/4494",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid,gsp-wpr2,gsp-refused,gsp-failed,gfw-boot",),
    caused_by=(
        "device.fallen-off-the-bus",
        "device.power-cable-missing",
        "device.xid-hardware",
        "device.gsp-firmware-missing",
        *UNFIT,
    ),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def gsp_failed(on: OnAddress) -> Problem | None:
    """The log's own words, where the GPU does not respond or nothing shows that it has recovered."""
    logged = _logged(on)
    if not logged:
        return None
    cause = None
    if _refused(on) and not on.answers:
        release = phrase(" of driver {}", on.facts.nvidia.kernel.loaded)
        later = " Later attempts find WPR2 already up." if any(e.kind == "gsp-wpr2" for e in logged) else ""
        code = next((f" ({code})" for code in _codes(on)), "")
        message = f"{on.name}: the GSP firmware{release} failed to start{code}.{later}"
        cause = _REFUSED + "".join(f" Known: {row.what}, from {row.first} on ({row.source})." for row in _known(on))
    elif any(e.kind == "gsp-wpr2" for e in logged):
        message = (
            f"{on.name} is in a bad state: its GSP refuses to boot because WPR2 is already up. It needs a power cycle."
        )
    elif any(e.kind == "xid" for e in logged):
        message = f"{on.name}: its GSP firmware stopped responding{phrase(' (Xid {})', logged[-1].code)}."
    elif any(e.kind == "gfw-boot" for e in logged):
        message = f"{on.name}: its boot firmware (GFW) did not finish, so its GSP cannot start."
    else:
        message = f"{on.name}: its GSP did not start."
    back = on.answers and on.facts.nvidia.cuda.code == 0
    severity = Severity.ADVICE if on.is_history(logged) else Severity.WARNING if back else None
    return Problem(message, texts(logged), cause, severity)
