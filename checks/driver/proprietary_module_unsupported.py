"""The proprietary kernel modules on a GPU that only the open ones support."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import module
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.maybe import phrase
from gpudoctor.queries.cards import alike_cards, generation_of, model_name, works
from gpudoctor.queries.driver import branch, module_flavor, module_version
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, in_container


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    found = generation_of(on.card)
    first = (found.first_driver if found else None) or 0
    have = branch(module_version(on.facts)) or 0
    wanted = have if have >= first and have else best_branch(on.facts, first)
    which = phrase(" of driver branch {}", wanted)
    if in_container(on.facts):
        return (module.on_the_host(f"On the host: install the open kernel modules{which}."),)
    message = f"Install the open kernel modules{which}, then reboot."
    return (install_driver(on.facts, wanted, "open", message),)


def _superchip(on: OnCard) -> bool:
    """Whether this is the Hopper of a GH200, for which the open modules are the only supported ones."""
    return on.facts.host.platform == "grace" and on.card.generation == "Hopper"


@check(
    title="This GPU needs NVIDIA's open kernel modules",
    severity=Severity.ERROR,
    cause="From Blackwell on, and on Grace Hopper, only the open kernel modules support a GPU; the proprietary ones "
    "reject it at probe, and nvidia-smi reports No devices were found.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html",
        "https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules/",
    ),
    targets=alike_cards,
    caused_by=("driver.not-installed", "driver.gpu-too-new"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def proprietary_module_unsupported(on: OnCard) -> Problem | None:
    """The module's flavor against what the generation needs; the log names the card too."""
    if works(on.facts, on.card) or on.card.driver == "vfio-pci":
        return None
    logged = [e for e in events(on.facts, "nvrm-open-required") if e.gpu in (None, on.card.address)]
    found = generation_of(on.card)
    required = found is not None and (found.open_module == "required" or _superchip(on))
    by_kind = required and module_flavor(on.facts) == "proprietary"
    if not by_kind and not (logged and (found is None or required)):
        return None
    name = f"{found.name} GPU" if found else "GPU"
    message = (
        f"{model_name(on)} is a {name}, which only the open kernel modules support; the installed module "
        f"{module_version(on.facts) or ''} is the proprietary one."
    )
    return Problem(message.replace("  ", " "), texts(tuple(logged)))
