"""The open kernel modules on a GPU without GPU System Processor."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import image, module, module_option
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import Unknown
from gpudoctor.queries.cards import alike_cards, any_works, generation_of, model_name, works
from gpudoctor.queries.driver import branch, library_version, module_flavor, module_version
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, gpus_of, in_container

# Before 545 they are for data center GPUs (knowledge/drivers.toml).
_FORCE = "NVreg_OpenRmEnableUnsupportedGpus=1"


def _needs_option(on: OnCard) -> bool:
    """Whether the module itself logs that it is for data center GPUs only, on a GPU that the open modules can drive."""
    found = generation_of(on.card)
    rule = found.open_module if found else ""
    return rule != "no" and bool(events(on.facts, "nvrm-open-data-center")) and module_flavor(on.facts) != "proprietary"


def _option_fixes(on: OnCard) -> tuple[Fix, ...]:
    """The proprietary modules, or a branch whose open ones take every GPU; or the option."""
    facts, have, best = on.facts, branch(module_version(on.facts)), best_branch(on.facts)
    if in_container(facts):
        return (
            module.on_the_host("On the host: install the proprietary kernel modules, or driver branch 550 or newer."),
        )
    force = module_option.set_option(
        facts, "Stay with these modules (NVIDIA calls their support of this GPU unfinished)", _FORCE, "nvidia-open"
    )
    if best is not None and best >= drivers.first_open_for_all():
        return (install_driver(facts, best), force)
    wanted = have or best or drivers.advised_branch()
    message = f"Install the proprietary kernel modules (not the open ones) of driver branch {wanted}, then reboot."
    return (install_driver(facts, wanted, "proprietary", message), force)


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    if _needs_option(on):
        return _option_fixes(on)
    found = generation_of(on.card)
    version = module_version(on.facts)
    if version is None and not isinstance(on.facts.nvidia.nvml.libraries, Unknown):
        version = library_version(on.facts)
    last = (found.last_driver if found else None) or 580
    wanted = min(branch(version) or last, last)
    if in_container(on.facts):
        return (module.on_the_host(f"On the host: install the proprietary kernel modules of branch {wanted}."),)
    message = f"Install the proprietary kernel modules (not the open ones) of driver branch {wanted}, then reboot."
    images = image.driver(on.facts, "proprietary", found.last_driver if found else None)
    return images or (install_driver(on.facts, wanted, "proprietary", message),)


@check(
    title="NVIDIA's open kernel modules do not support this GPU",
    severity=Severity.ERROR,
    cause="NVIDIA's open kernel modules need the GPU System Processor (GSP), which GPUs have since Turing. Maxwell, "
    "Pascal and Volta need the proprietary modules.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/open-gpu-kernel-modules",
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html",
    ),
    targets=alike_cards,
    caused_by=("driver.not-installed", "driver.gpu-dropped"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def open_module_unsupported(on: OnCard) -> Problem | None:
    """The module's flavor against what the generation needs; the log names the card too."""
    if works(on.facts, on.card) or on.card.driver == "vfio-pci":
        return None
    if on.card.driver == "nouveau" and any_works(on.facts):
        return None  # a card for the displays, which the open-source driver uses
    if _needs_option(on):
        return _without_option(on)
    refusals = events(on.facts, "nvrm-open-unsupported", "nvrm-gpu-named")
    found = generation_of(on.card)
    by_kind = found is not None and found.open_module == "no" and module_flavor(on.facts) == "open"
    by_log = any(e.kind == "nvrm-open-unsupported" for e in refusals) and (found is None or found.open_module == "no")
    if not by_kind and not by_log:
        return None
    name = f"{found.name} GPU" if found else "GPU"
    message = (
        f"{model_name(on)} is a {name} without GSP, which the installed open kernel modules "
        f"({module_version(on.facts) or 'of unknown version'}) do not support."
    )
    others = [g for g in gpus_of(on.facts, "nvidia") if g.status == "ok"]
    return Problem(message, texts(refusals), severity=Severity.WARNING if others else None)


def _without_option(on: OnCard) -> Problem:
    version = module_version(on.facts) or "of unknown version"
    return Problem(
        f"The installed open kernel modules ({version}) refuse {model_name(on).replace('The GPU', 'the GPU', 1)}: "
        f"before branch {drivers.first_open_for_all()} they are for data center GPUs and need {_FORCE} on others.",
        texts(events(on.facts, "nvrm-open-data-center", "rm-init-failed")),
        "NVIDIA made its open kernel modules for data center GPUs first: GeForce and workstation GPUs are unsupported "
        "in them before branch 545 and are initialized only with NVreg_OpenRmEnableUnsupportedGpus=1. The card is not "
        "broken.",
    )
