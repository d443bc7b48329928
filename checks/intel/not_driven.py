"""An Intel card without a kernel driver bound to it, or with one that is experimental for it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes import card_firmware, kernel_packages, system
from gpudoctor.fixes import intel as fixes
from gpudoctor.fixes.boot import without_parameters
from gpudoctor.fixes.card_firmware import SILENT, power_cycle
from gpudoctor.knowledge import intel
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.regressions import Regression
from gpudoctor.maybe import known, known_or, phrase, present
from gpudoctor.queries import module_refusals
from gpudoctor.queries.intel import card_name, cards_to_drive, force_probe, xpu_builds
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.queries.known_bugs import kernel_bug, known_kernel
from gpudoctor.targets import OnCard
from gpudoctor.tasks import Task, as_root, filtered, query

# What the driver core prints of a failed probe: xe ends with ENXIO where the card's memory window (BAR 2) has no
# address (drivers/gpu/drm/xe/xe_vram.c); a GPU that does not answer in time is ETIME or ETIMEDOUT.
_NO_WINDOW = -6
_TIMES_OUT = (-62, -110)
_KINDS = ("intel-unsupported", "intel-firmware", "intel-window-invalid", "intel-probe-failed")
# By what stopped the driver: the end of the message, and the cause.
_STOPPED = {
    "window": (
        "its memory window (BAR 2) has no address space",
        "The firmware or hypervisor found no room for the window through which the CPU reaches the card's memory, or "
        "the kernel lost it when it resized the window (Resizable BAR): the driver then stops.",
    ),
    "silent": (
        "it did not respond in time when the driver started it",
        "The driver knows the card, but the card did not respond while the driver started it: it is in a bad state, "
        "which a power cycle clears, lacks power, or is broken.",
    ),
    "modules": (
        "the kernel refused {module}, which needs symbols of modules that are in the package linux-modules-extra of "
        "this kernel; it is not installed",
        "Ubuntu's images for virtual machines and clouds leave out the kernel's other modules, such as "
        "drm_display_helper and ttm. A graphics driver that needs them does not load: 'Unknown symbol (err -2)'.",
    ),
    "unloaded": (
        "the kernel refused {module}, whose symbol {symbol} is in the kernel's module {provider}, which was not loaded",
        "A module can be loaded only after those whose symbols it needs: modprobe loads them first where modules.dep "
        "names them, insmod does not.",
    ),
    "build": (
        "the kernel refused {module}: it was compiled for another build of this kernel",
        "A module fits the build of the kernel that it was compiled with; the kernel refuses it where versions of "
        "symbols or their types (BTF) differ: an image and modules of two builds, or a module that DKMS did not build "
        "again.",
    ),
}
_REFUSED = ("unknown-symbol", "symbol-mismatch", "btf-refused")


def _first_kernel(on: OnCard) -> str:
    found = intel.family(on.card.device)
    return found.kernel if found else ""


def _is_too_old(on: OnCard) -> bool:
    release, first = known(on.facts.host.kernel.release), _first_kernel(on)
    return bool(first) and release[:1].isdigit() and version(release)[:2] < version(first)


def _forced_driver(on: OnCard) -> str | None:
    """The driver that force_probe bound to a card that another one is for; None where PyTorch computes with it."""
    found, bound = intel.family(on.card.device), known(on.card.driver)
    if found is None or not found.kernel or bound not in ("i915", "xe") or bound == found.module:
        return None
    known(on.facts.host.kernel.command_line)
    named = any(word.startswith(f"{bound}.force_probe=") for word in force_probe(on.facts, on.card))
    live = [f.live for _, f in xpu_builds(on.facts) if f.live is not None]
    return bound if named and not any(one.available is True for one in live) else None


def _is_early(on: OnCard) -> bool:
    """Whether this kernel is older than the first whose xe drives any card by itself."""
    return version(known_or(on.facts.host.kernel.release, "0"))[:2] < version(intel.first_kernel("xe"))


def _runtime_too_old(on: OnCard) -> str | None:
    """The first release of the compute runtime that finds the card on the module it was forced onto: a newer one."""
    bound, build = known_or(on.card.driver, None), known_or(on.facts.intel.runtime_build, None)
    first = intel.runtime_for_forced(on.card.device, bound) if bound and not _is_early(on) else None
    return first[0] if first and build is not None and build < first[1] else None


def _newer_runtime(on: OnCard, release: str) -> Fix:
    bound = present(known(on.card.driver))
    which = f"To keep {bound}: install Intel's compute runtime {release} or newer ({fixes.RUNTIMES})"
    note = "Intel reports that it finds the card; one user's was still not found by 26.05, so i915 is the surer way."
    return fixes.newer_runtime(on.facts, which, fixes.proof(on.facts), note=note)


def _logged(on: OnCard, *kinds: str) -> tuple[LogEvent, ...]:
    return tuple(event for event in events(on.facts, *kinds) if event.gpu in (None, on.card.address))


def _bug(on: OnCard) -> Regression | None:
    """The known bug of the running kernel's driver that the log shows for this card."""
    lines = tuple(event.text for event in _logged(on, *_KINDS))
    return kernel_bug(on.facts, lines, *(name for name in ("xe", "i915") if any(f"{name} " in x for x in lines)))


def _refused(facts: Facts) -> tuple[str, dict[str, str]]:
    """Why the kernel refused i915 or xe, empty where it did not, and what the message names."""
    named = (e.what.get("module", "") for e in events(facts, *_REFUSED))
    module = next((name for name in named if name.startswith(("i915", "xe"))), "i915").partition("_")[0]
    found = module_refusals.refusal(facts, "i915")
    if found:
        return ("modules" if found == module_refusals.MODULES_MISSING else "build"), {"module": module}
    missing = module_refusals.unprovided(facts, "i915")
    if missing is None:
        return "", {}
    return "unloaded", {"module": module, "symbol": missing.symbol, "provider": missing.provider}


def _why(on: OnCard) -> str:
    """What kept a driver that knows the card from it, by its own messages; empty: they do not show it."""
    code = next((event.code for event in reversed(_logged(on, "intel-probe-failed"))), None)
    if on.card.bar1 == 0 or code == _NO_WINDOW or _logged(on, "intel-window-invalid"):
        return "window"
    return "silent" if code in _TIMES_OUT else _refused(on.facts)[0]


def _load(on: OnCard, why: str, proof: Task) -> tuple[Fix, ...]:
    """What lets the refused module load."""
    module, missing = _refused(on.facts)[1]["module"], module_refusals.unprovided(on.facts, "i915")
    if why == "modules":
        return (kernel_packages.extra_modules(on.facts, module, proof),)
    if why == "unloaded" and missing:
        return kernel_packages.load_provider(on.facts, missing, (module,), proof)
    # DKMS has Intel's drivers rarely, and the compatibility module of i915-sriov-dkms always.
    own = any(event.what.get("module") == "i915_compat" for event in events(on.facts, *_REFUSED))
    build = "uild the modules of DKMS again for the running kernel, and reboot."
    again = Fix(
        f"B{build}" if own else f"If `dkms status` lists {module} or a package of Intel's: b{build}",
        (as_root("dkms", "autoinstall", "--force"), *system.initramfs(on.facts), as_root("reboot")),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=proof,
    )
    kernel = kernel_packages.reinstall_kernel(on.facts, proof)
    return (again, *kernel) if own else (*kernel, again)


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    first = _first_kernel(on)
    proof = query("lspci", "-k", "-s", on.card.address)
    words = force_probe(on.facts, on.card)
    why, bug = _why(on), _bug(on)
    if bug:
        return kernel_packages.without_bug(on.facts, bug, proof)
    if why == "window":
        return card_firmware.more_room(on.facts, proof)
    if why == "silent":
        return (power_cycle(on.facts, SILENT, proof),)
    if why:
        return _load(on, why, proof)
    if words:
        found = intel.family(on.card.device)
        message = f"Let {found.module if found else 'i915'} drive the card again."
        again, newer = without_parameters(on.facts, message, words, proof), _runtime_too_old(on)
        return (again, _newer_runtime(on, newer)) if newer else (again,)
    if not first and intel.family(on.card.device):
        message = (
            "Install Intel's own kernel modules for Data Center GPUs (DKMS), as described in "
            f"{fixes.KERNELS}, and reboot."
        )
        return (Fix(message, (), "reinstall-package", root=True, needs="reboot", verify=proof),)
    if _is_too_old(on):
        release = on.facts.host.distribution.version
        hwe = on.facts.host.distribution.id == "ubuntu" and isinstance(release, str)
        commands = system.install(on.facts, phrase("linux-generic-hwe-{}", release)) if hwe else ()
        message = f"Boot kernel {first} or newer" + (": Ubuntu's HWE kernel, if it is new enough." if commands else ".")
        return (Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=proof),)
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
        *kernel_packages.before_update(on.facts, proof),
    )


@check(
    title="No kernel driver (i915, xe), or an experimental one, is bound to the Intel GPU",
    severity=Severity.WARNING,
    cause="i915 and xe support a card only from the kernel release on that knows its device id; older kernels skip it "
    "or require force_probe. A blacklist, nomodeset, missing firmware, or modules that the driver needs and that are "
    "not installed keep it from binding to a card that it knows.",
    fixes=_fixes,
    references=(
        fixes.KERNELS,
        "https://docs.kernel.org/gpu/xe/index.html",
        "https://github.com/intel/compute-runtime/issues/853",
        "https://github.com/intel/compute-runtime/issues/868",
        "https://github.com/intel/compute-runtime/issues/905",
        "https://gitlab.freedesktop.org/drm/xe/kernel/-/issues/6356",
        "https://github.com/strongtz/i915-sriov-dkms/issues/188",
        "https://github.com/strongtz/i915-sriov-dkms/issues/418",
    ),
    targets=cards_to_drive,
    caused_by=("intel.firmware-missing",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def not_driven(on: OnCard) -> Problem | None:
    """Nothing is bound to it; or xe to a card that i915 is for, by force_probe."""
    forced = _forced_driver(on)
    if forced:
        return _experimental(on, forced)
    if known(on.card.driver) is not None:
        return None
    message = f"{card_name(on.card)} has no kernel driver bound"
    kinds = {"window": ("bar-no-space",), "silent": (), "": ()}.get(_why(on), _REFUSED)
    logged = texts(_logged(on, *_KINDS, *kinds))
    if bug := _bug(on):
        cause = f"Regression of the kernel's driver: {bug.what}. {bug.source}"
        return Problem(f"{message}. {known_kernel(on.facts, bug)}", logged, cause)
    if found := _STOPPED.get(_why(on)):
        reason = found[0].format(**_refused(on.facts)[1])
        return Problem(f"{message}: {reason}.", logged, cause=found[1])
    if _is_too_old(on):
        message += f": kernel {known(on.facts.host.kernel.release)} is too old, it needs {_first_kernel(on)} or newer"
    elif words := force_probe(on.facts, on.card):
        message += f": {' '.join(words)} on the kernel command line keeps it away"
    return Problem(f"{message}.", logged)


def _experimental(on: OnCard, bound: str) -> Problem:
    found, words = intel.family(on.card.device), " ".join(force_probe(on.facts, on.card))
    release = phrase(" of kernel {}", on.facts.host.kernel.release)
    own = found.module if found else "i915"
    message = f"{card_name(on.card)} is bound to {bound}{release} by {words}: for this card {bound} is experimental"
    why = (
        "Each kernel driver lists the cards that it supports; force_probe binds it to others, for development. The "
        "compute runtime then aborts (bindless_heaps_helper.cpp) or lists no device, although the driver is loaded."
    )
    newer = _runtime_too_old(on)
    if newer:
        build = phrase(" (build {})", on.facts.intel.runtime_build)
        message += (
            f", and Intel's compute runtime{build} does not find it there, as no release before {newer} does: Level "
            f"Zero and OpenCL need {own}, or a newer runtime."
        )
        return Problem(message, cause=why)
    message += f", and Intel's compute runtime (Level Zero, OpenCL) needs {own}."
    return Problem(message, cause=why, severity=None if _is_early(on) else Severity.ADVICE)
