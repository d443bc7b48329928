"""The open kernel modules on a GPU without GPU System Processor."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import module
from gpudoctor.fixes.driver import install_driver
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
        return None
    name = f"{found.name} GPU" if found else "GPU"
    message = (
        f"{model_name(on)} is a {name} without GSP, which the installed open kernel modules "
        f"({module_version(on.facts) or 'of unknown version'}) do not support."
    )
    others = [g for g in gpus_of(on.facts, "nvidia") if g.status == "ok"]
    return Problem(message, texts(refusals), severity=Severity.WARNING if others else None)
