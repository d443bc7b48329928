"""The fix where nothing is wrong with a machine, and it is still not as somebody demands: what `setup` would bring."""

from collections.abc import Iterator

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.driver import best_branch, flavor_for, generations_of, install_driver
from gpudoctor.knowledge import drivers
from gpudoctor.queries.packages import answered
from gpudoctor.registry import BY_MODULE
from gpudoctor.setup import driver, environment, planner
from gpudoctor.setup.plan import SetupStep, Wheel
from gpudoctor.setup.platform import ground as read
from gpudoctor.setup.request import SetupRequest
from gpudoctor.targets import gpus_of, in_container, on_wsl

# Stands for the last release of a branch, whose number no table has.
_LAST = ".9999"


def fixes(facts: Facts, name: str, wanted: object) -> tuple[Fix, ...]:
    """What makes a machine meet a demand; none where no driver and no wheel that is known does.

    Args:
        facts: the machine.
        name: the demand, as `require` names it.
        wanted: what is wanted of it: for a version, its SpecifierSet.
    """
    framework = name.removesuffix("_sees")
    if name in ("driver", "cuda") and isinstance(wanted, SpecifierSet):
        found = _driver(facts, name, wanted)
    elif framework in BY_MODULE:
        found = _framework(facts, framework, wanted)
    else:
        found = None
    return (found,) if found else ()


def _fix(step: SetupStep, action: Action) -> Fix:
    """A step as a fix."""
    return Fix(
        step.title,
        step.commands,
        action,
        root=step.root,
        needs="reboot" if step.reboot else None,
        undo=step.undo,
        verify=step.verify[0] if step.verify else None,
    )


# -- the driver ----------------------------------------------------------------------------------------------


def _driver(facts: Facts, name: str, wanted: SpecifierSet) -> Fix | None:
    """The driver of a branch that meets a demand for its version or its CUDA."""
    ground = read(facts)
    ours = ground.vendor == "nvidia" and facts.host.platform != "jetson" and flavor_for(facts) is not None
    if not ours or any(_is_virtual(gpu) for gpu in gpus_of(facts, "nvidia")):
        return None
    action: Action = "ask-vendor" if in_container(facts) or on_wsl(facts) else "reinstall-package"
    branches = tuple(dict.fromkeys(_branches(facts)))
    for branch in branches:
        if wanted.contains(f"{branch}{_LAST}" if name == "driver" else drivers.cuda_of_branch(branch) or "0"):
            step = driver.step(facts, ground, branch, None)
            if not step.commands or not _brings_another(facts, branch, branches):
                return _fix(step, action)
    return None


def _brings_another(facts: Facts, branch: int, branches: tuple[int, ...]) -> bool:
    """Whether the distribution's packages are those of a newer branch too, which they then bring."""
    own = install_driver(facts, branch).tasks
    return any(newer > branch and own == install_driver(facts, newer).tasks for newer in branches)


def _is_virtual(gpu: Gpu) -> bool:
    """Whether its driver has to fit the host's."""
    return gpu.virtualization == "vgpu"


def _branches(facts: Facts) -> Iterator[int]:
    """The supported branches that drive every GPU here: the distribution's own, the advised one, then the newest first.

    New feature branches (NFB) are not among them: few distributions package them, and each ends within months.
    """
    best = best_branch(facts)
    if best:
        yield best
    found = generations_of(facts)
    first = max((g.first_driver for g in found if g.first_driver), default=0)
    last = min((g.last_driver for g in found if g.last_driver), default=drivers.newest_branch())
    advised = drivers.advised_branch()
    for number in (*([advised] if first < advised <= last else ()), *range(last, first, -1)):
        branch = drivers.branch_of(number)
        if branch and branch.kind in ("LTSB", "PB") and not _has_ended(branch.end_of_life, facts.created):
            yield number


def _has_ended(end: str | None, today: str) -> bool:
    """Whether a month or a year ("2026-06", "2026") is over."""
    return end is not None and end < today[: len(end)]


# -- frameworks ----------------------------------------------------------------------------------------------


def _framework(facts: Facts, name: str, wanted: object) -> Fix | None:
    """The wheel that meets a demand, into the environment that was checked, with the driver that is there."""
    there = answered(facts)
    own = [python for python in there if any(one.name == name for one in python.frameworks)]
    if not there or (own and not isinstance(wanted, SpecifierSet)):
        return None  # it is there, and what it sees no wheel changes
    request = SetupRequest(frameworks=(name,), into=(own or there)[0].path, driver="no", upgrade=True)
    made = planner.plan(facts, request)
    for wheel in made.wheels:
        fitting = _fitting(wheel, wanted) if isinstance(wanted, SpecifierSet) else wheel
        if fitting and (isinstance(wanted, SpecifierSet) or fitting.variant != "cpu"):
            (step,) = environment.steps(facts, request, made.manager, made.python or "", (fitting,))
            return _fix(step, "reinstall-package")
    return None


def _fitting(wheel: Wheel, wanted: SpecifierSet) -> Wheel | None:
    """The wheel, narrowed to the wanted versions; None where it has none of them."""
    own = Requirement(wheel.requirement)
    named = [one.version.removesuffix(".*") for one in (*own.specifier, *wanted)]
    tried = [number for one in named for number in (one, one + _LAST) if own.specifier.contains(number)]
    fits = [wanted.contains(number) for number in tried]
    if not any(fits):
        return None
    if all(fits):
        return wheel
    own.specifier &= wanted
    return msgspec.structs.replace(wheel, requirement=str(own))
