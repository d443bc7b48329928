"""The driver's step: which branch and flavor, by whose packages; none where the driver is good enough."""

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, cloud, driver
from gpudoctor.knowledge import drivers
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known_or, phrase
from gpudoctor.queries.clouds import needs_grid
from gpudoctor.queries.driver import driver_version, has_nvidia_driver
from gpudoctor.setup.choice import choose
from gpudoctor.setup.plan import Refusal, SetupStep, TargetPlatform
from gpudoctor.setup.request import SetupRequest
from gpudoctor.targets import gpus_of, in_container, on_wsl

WINDOWS = "https://www.nvidia.com/en-us/drivers/"

_VGPU = (
    "These are virtual GPUs: they need the guest driver of NVIDIA's vGPU software, which has to match the host's. The "
    "administrator of the host has a newer one; the ordinary driver does not support them."
)


class DriverPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the driver.

    Attributes:
        cuda: the CUDA release that it will run; None: there will be none.
        branch: the branch that the step brings; None: there is no step.
        step: what brings it there; None: nothing is to be done.
        refused: why no driver can be had.
        notes: what else is good to know.
    """

    cuda: str | None = None
    branch: int | None = None
    step: SetupStep | None = None
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


def decide(facts: Facts, ground: TargetPlatform, request: SetupRequest, pythons: Iterable[str | None]) -> DriverPlan:
    """Whether the driver is good enough for the request, and which one is to come where it is not."""
    own = ground.driver_cuda
    if request.driver == "no":
        notes = () if own else ("There is no driver, and none will be installed: this plan assumes the newest one.",)
        return DriverPlan(cuda=own or _cuda(driver.best_branch(facts)), notes=notes)
    if any(gpu.virtualization == "vgpu" for gpu in gpus_of(facts, "nvidia")):
        return DriverPlan(cuda=own, notes=(_VGPU, *_state(facts)))
    branch = driver.best_branch(facts)
    if branch is None or driver.flavor_for(facts) is None:
        return _none_fits(own)
    new = _cuda(branch)
    if own and not _needed(ground, request, tuple(pythons), own, new):
        return DriverPlan(cuda=own, notes=tuple(_state(facts)))
    return DriverPlan(cuda=new, branch=branch, step=step(facts, ground, branch, new))


def _needed(
    ground: TargetPlatform, request: SetupRequest, pythons: tuple[str | None, ...], own: str, new: str | None
) -> bool:
    """Whether a newer driver meets more request, or was wished for; CUDA 11 is the past for all frameworks."""
    if new is None or version(new) <= version(own):
        return False
    if request.driver == "yes" or (version(own)[0] < 12 <= version(new)[0]):
        return True
    now, then = (len(choose(ground, request.frameworks, cuda, pythons).wheels) for cuda in (own, new))
    return then > now


def _cuda(branch: int | None) -> str | None:
    return drivers.cuda_of_branch(branch) if branch else None


def _none_fits(own: str | None) -> DriverPlan:
    why = "No NVIDIA driver branch supports all GPUs of this machine: the newest branches dropped the oldest card."
    return DriverPlan(cuda=own, refused=(Refusal("driver", why, "Remove one card, or pass it through to a VM."),))


def _state(facts: Facts) -> Iterator[str]:
    """What is said of a driver that stays."""
    if facts.host.system != "Linux" or has_nvidia_driver(facts):
        return
    if facts.nvidia.cuda.unmasked_code == 0:
        yield "CUDA_VISIBLE_DEVICES hides every GPU from programs in this shell: unset it before you use the wheels."
        return
    own = phrase(" {}", known_or(driver_version(facts), None))
    whose = "The host's driver" if in_container(facts) else "The driver"
    where = " in this container" if in_container(facts) else ""
    yield f"{whose}{own} was not seen to work{where}: `gpudoctor check` shows why."


def step(facts: Facts, ground: TargetPlatform, branch: int, cuda: str | None) -> SetupStep:
    """What brings the driver of a branch.

    Args:
        facts: the machine.
        ground: what decides, of it.
        branch: the branch.
        cuda: the CUDA release that is wanted of it; None: the branch itself is wanted.
    """
    fix = _fix(facts, branch, cuda)
    there = "There is no driver"
    if ground.driver_cuda:
        there = f"The driver{phrase(' {}', ground.driver)} supports CUDA up to {ground.driver_cuda}"
    runs = phrase(" supports CUDA {} and", cuda)
    why = (
        f"{there}; branch {branch}{runs} supports every GPU of this machine{_with(facts, branch)}. The wheels include "
        "their own CUDA libraries: no toolkit is needed."
    )
    return SetupStep(
        id="driver",
        group="driver",
        title=fix.message,
        why=why,
        commands=fix.tasks,
        root=fix.root,
        reboot=fix.needs == "reboot",
        verify=(NVIDIA_SMI,),
    )


def _with(facts: Facts, branch: int) -> str:
    """The flavor, where it is ours to choose."""
    if on_wsl(facts) or needs_grid(facts) or facts.host.system == "Windows":
        return ""
    flavor = driver.flavor_for(facts, branch)
    return phrase(", with the {} kernel modules{}", flavor, _because(facts, flavor))


def _because(facts: Facts, flavor: str | None) -> str:
    """Why this flavor."""
    rules = {g.open_module for g in driver.generations_of(facts)}
    if flavor == "proprietary":
        early = "no" not in rules
        return f" (the open ones {'of this branch are for data center GPUs' if early else 'support Turing and newer'})"
    return " (the only ones that support Blackwell and newer)" if "required" in rules else ""


def _fix(facts: Facts, branch: int, cuda: str | None) -> Fix:
    floor = drivers.minimum_driver(cuda or "") or str(branch)
    if on_wsl(facts):
        message = f"Install driver version {floor} or newer in Windows, never inside WSL, then run `wsl --shutdown`."
        return Fix(message, needs="a restart of WSL")
    if facts.host.system == "Windows":
        message = f"Install the NVIDIA driver, version {floor} or newer, from {WINDOWS}, then reboot."
        return Fix(message, root=True, needs="reboot")
    if in_container(facts):
        message = (
            f"Ask the host's administrator to install driver version {floor} or newer (branch {branch}) on the host; "
            "do not install a driver inside the container."
        )
        return Fix(message, needs="a restart of the container")
    return cloud.driver(facts, driver.install_driver(facts, branch))[0]
