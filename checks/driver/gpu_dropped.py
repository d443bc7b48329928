"""The installed driver branch no longer supports this old GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.fixes import image, module, runfile, system
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import Unknown, present
from gpudoctor.queries.cards import alike_cards, any_works, generation_of, model_name, works
from gpudoctor.queries.driver import branch, library_version, module_flavor, module_version
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, cards_of, gpus_of, in_container
from gpudoctor.tasks import Shell, Tasks, query

_LEGACY = "https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/"


def _version(on: OnCard) -> str | None:
    user = None if isinstance(on.facts.nvidia.nvml.libraries, Unknown) else library_version(on.facts)
    return module_version(on.facts) or user


def last_branch(on: OnCard) -> int | None:
    """The last branch that supports this card: by its generation, else from the log; None: no end is known."""
    found = generation_of(on.card)
    if found is not None:
        return found.last_driver
    logged = [e.what.get("branch", "") for e in events(on.facts, "nvrm-legacy")]
    numbers = [number for text in logged if (number := number_of(text)) is not None]
    return numbers[0] if numbers and len(cards_of(on.facts, "nvidia")) == 1 else None


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    last = last_branch(on) or 0
    if in_container(on.facts):
        message = f"On the host: install driver branch {last}, the last one for this GPU, or use another machine."
        return (module.on_the_host(message),)
    if images := image.driver(on.facts, "proprietary", last):
        return (*images, _plan_ahead(on, last))
    branch = min(last, best_branch(on.facts) or last)
    which = "the last one that supports this GPU"
    if branch < last:
        which = f"this release's own, which supports this GPU (the last one that does is {last})"
    message = f"Install driver branch {branch}, {which}, then reboot. Legacy drivers: {_LEGACY}"
    package = install_driver(on.facts, branch, "proprietary", message)
    if package.tasks:
        return (package, _plan_ahead(on, last))
    return (_by_hand(on, last), _plan_ahead(on, last))


def _by_hand(on: OnCard, last: int) -> Fix:
    if system.family_of(on.facts) is None:
        message = (
            "Use an image, system extension or kernel-module package of this operating system that ships driver "
            "branch "
            f"{last} (and a release whose kernel that branch still supports). Legacy drivers: {_LEGACY}"
        )
        return Fix(message, (), "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi"))
    version = drivers.last_release(last)
    message = (
        f"Remove the driver, then install driver {version or last} with NVIDIA's installer: no package source here has "
        f"branch {last}. It builds only for kernels up to its own time; for a later one, take a release of this "
        f"distribution with an older kernel. Legacy drivers: {_LEGACY}"
    )
    gone = system.remove(on.facts, *module.driver_packages(on.facts)[:8]) if _packaged(on) else ()
    load = runfile.download(on.facts, version) if version else ()  # first: without it nothing is to be removed
    name = runfile.file_name(on.facts, version or f"{last}.*")
    commands: Tasks = (*load, *gone, Shell(f"sh {name} --dkms", root=True))
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi"))


def _packaged(on: OnCard) -> bool:
    return bool(module.driver_packages(on.facts)) and not runfile.uses_runfile(on.facts)


def _plan_ahead(on: OnCard, last: int) -> Fix:
    row = drivers.branch_of(last)
    end, today = (row.end_of_life if row else None) or "", on.facts.created
    until = f"gets fixes until {end}" if end and today and end >= today[: len(end)] else "gets no more fixes"
    message = f"Plan for a newer GPU: branch {last} {until}, and one day it will not build for current kernels."
    return Fix(message, impact="none")


@check(
    title="GPU no longer supported by the installed driver branch (legacy)",
    severity=Severity.ERROR,
    cause="NVIDIA drops old generations from new driver branches; the kernel module then ignores the card (legacy).",
    fixes=_fixes,
    references=(
        _LEGACY,
        "https://github.com/siderolabs/talos/issues/8764",
        "https://github.com/ublue-os/aurora/issues/1924",
    ),
    targets=alike_cards,
    affects=("everything",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def gpu_dropped(on: OnCard) -> Problem | None:
    """The generation's last branch is older than the module's."""
    last = last_branch(on)
    if last is None or works(on.facts, on.card) or on.card.driver == "vfio-pci":
        return None
    if on.card.driver == "nouveau" and any_works(on.facts):  # an old card for the displays
        return None
    version = _version(on)
    have, logged = branch(version), events(on.facts, "nvrm-legacy")
    if have is None or have <= last:
        return None
    name = f"{on.card.generation} GPU" if isinstance(on.card.generation, str) else "GPU"
    wants, has = "driver branch", ""
    if module_flavor(on.facts) == "open":
        wants, has = "the proprietary kernel modules of driver branch", ", with open kernel modules,"
    message = (
        f"{model_name(on)} is a {name} that needs {wants} {last} or older; the installed driver "
        f"{present(version)}{has} is too new and ignores it."
    )
    others = [g for g in gpus_of(on.facts, "nvidia") if g.status == "ok"]
    return Problem(message, texts(logged), severity=Severity.WARNING if others else None)
