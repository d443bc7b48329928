"""The open kernel modules on a GPU without GPU System Processor."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import module
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.maybe import Unknown
from gpudoctor.queries.cards import alike_cards, any_works, generation_of, model_name, works
from gpudoctor.queries.driver import branch, library_version, module_flavor, module_version
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, gpus_of, in_container


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    found = generation_of(on.card)
    version = module_version(on.facts)
    if version is None and not isinstance(on.facts.nvidia.nvml.libraries, Unknown):
        version = library_version(on.facts)
    last = (found.last_driver if found else None) or 580
    wanted = min(branch(version) or last, last)
    if in_container(on.facts):
        return (module.on_the_host(f"On the host: install the proprietary kernel modules of branch {wanted}."),)
    message = f"Install the proprietary kernel modules (not the open ones) of driver branch {wanted}, then reboot."
    return (install_driver(on.facts, wanted, "proprietary", message),)


# Release notes of 545.29.02: beta support of GeForce and workstation GPUs, which needed the option until then.
_EARLY = 545


def _too_early(on: OnCard) -> Problem | None:
    """The first open modules: made for data center GPUs, and refused on others."""
    refused, version = events(on.facts, "open-data-center-only"), module_version(on.facts)
    own = branch(version)
    if not refused or module_flavor(on.facts) != "open" or version is None or own is None or own >= _EARLY:
        return None
    last = best_branch(on.facts, _EARLY)
    newer = (install_driver(on.facts, last, "open"),) if last else ()
    message = f"Or install the proprietary kernel modules of driver branch {own}, then reboot."
    return Problem(
        f"{model_name(on)} is no data center GPU, and the open kernel modules {version} start no other "
        "(NVreg_OpenRmEnableUnsupportedGpus is 0).",
        texts(refused),
        "The open kernel modules before branch 545 support data center GPUs; on GeForce and workstation GPUs they only "
        "start with the option NVreg_OpenRmEnableUnsupportedGpus=1. Later branches support all GPUs since Turing.",
        fixes=(*newer, install_driver(on.facts, own, "proprietary", message)),
    )


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
    refusals = events(on.facts, "nvrm-open-unsupported", "nvrm-gpu-named")
    found = generation_of(on.card)
    by_kind = found is not None and found.open_module == "no" and module_flavor(on.facts) == "open"
    by_log = any(e.kind == "nvrm-open-unsupported" for e in refusals) and (found is None or found.open_module == "no")
    if not by_kind and not by_log:
        return _too_early(on)
    name = f"{found.name} GPU" if found else "GPU"
    message = (
        f"{model_name(on)} is a {name} without GSP, which the installed open kernel modules "
        f"({module_version(on.facts) or 'of unknown version'}) do not support."
    )
    others = [g for g in gpus_of(on.facts, "nvidia") if g.status == "ok"]
    return Problem(message, texts(refusals), severity=Severity.WARNING if others else None)
