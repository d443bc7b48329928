"""The GPU is newer than the installed driver branch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import module
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.maybe import Unknown, present
from gpudoctor.queries.cards import alike_cards, generation_of, model_name, works
from gpudoctor.queries.driver import branch, library_version, module_version
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, in_container


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    found = generation_of(on.card)
    first = (found.first_driver if found else None) or 0
    if in_container(on.facts):
        return (module.on_the_host(f"On the host: install a driver of branch {first} or newer."),)
    return (install_driver(on.facts, best_branch(on.facts, first)),)


@check(
    title="GPU not supported by the installed driver: the driver is too old",
    severity=Severity.ERROR,
    cause="A driver supports only GPUs that were released before its branch; a newer card needs a newer branch.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html",
        "https://docs.nvidia.com/datacenter/tesla/drivers/",
    ),
    targets=alike_cards,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def gpu_too_new(on: OnCard) -> Problem | None:
    """The generation's first branch is newer than the module's."""
    found = generation_of(on.card)
    if found is None or found.first_driver is None or works(on.facts, on.card) or on.card.driver == "vfio-pci":
        return None
    version = module_version(on.facts)
    if version is None and not isinstance(on.facts.nvidia.nvml.libraries, Unknown):
        version = library_version(on.facts)
    have = branch(version)
    if have is None or have >= found.first_driver:
        return None
    needs = f"needs driver branch {found.first_driver} or newer"
    message = f"{model_name(on)} ({found.name}) {needs}; {present(version)} is too old."
    return Problem(message, texts(events(on.facts, "rm-init-failed", "probe-failed", "no-device-probed")))
