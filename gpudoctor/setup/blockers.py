"""What keeps programs from a GPU that is here: it is fixed before anything is installed for that GPU."""

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or, text_of
from gpudoctor.pipeline import CheckOptions, check
from gpudoctor.queries.gpus import programs_open
from gpudoctor.registry import AREAS
from gpudoctor.report.model import FindingEntry, Report
from gpudoctor.setup.fix_steps import step as step_of
from gpudoctor.setup.plan import Refusal, SetupStep, TargetPlatform
from gpudoctor.targets import asked_for_nvidia, framework_name, on_wsl
from gpudoctor.tasks import Manual

_AREAS = tuple(area.name for area in AREAS if area.keeps_out)
_NO_GPU = "device.no-gpu"  # that there is none at all keeps programs from none
_ROCM_WSL = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-pytorch.html"
# What the new environment fixes itself, or another step of the plan.
_OF_PLAN = ("driver.not-installed", "rocm.gfx-not-in-wheel", "intel.torch-not-for-xpu", "intel.level-zero-missing")


def examined(facts: Facts) -> Report:
    """The report on the GPUs of a machine, for `finding` and `without_gpu`."""
    return check(facts=facts, options=CheckOptions(only=_AREAS, quick=True))


def finding(facts: Facts, ground: TargetPlatform, report: Report) -> FindingEntry | None:
    """The finding without whose fix no program computes on the GPU of this machine; None: nothing is in the way.

    Args:
        facts: the machine.
        ground: what decides about a plan, of it.
        report: of `examined`.
    """
    if ground.vendor == "apple" or (ground.vendor == "nvidia" and programs_open(facts, "nvidia") is not False):
        return None
    failed = (entry for entry in report.findings if entry.status == "fail")
    return next((entry for entry in failed if entry.check not in (_NO_GPU, *_OF_PLAN)), None)


def refusal(names: tuple[str, ...], entry: FindingEntry) -> Refusal:
    """Why frameworks are not planned yet.

    Args:
        names: the frameworks, for people.
        entry: what is in the way.
    """
    how = "step 1" if entry.fixes else f"`gpudoctor explain {entry.check}`"
    how += f"; `{entry.run}` runs it" if entry.run and " --choice " not in entry.run else ""
    instead = f"Fix {entry.check} first ({how}), then run this again. To use the CPU instead: --cpu."
    return Refusal(", ".join(names), f"Programs cannot use the GPU of this machine yet. {entry.message}", instead)


def rocm_in_wsl(facts: Facts, names: tuple[str, ...]) -> Refusal | None:
    """Why frameworks are not planned in a WSL that is meant for an AMD GPU and has none; None: it is not.

    Args:
        facts: of a machine on which no GPU was found.
        names: the frameworks, for people.
    """
    if not on_wsl(facts) or asked_for_nvidia(facts):
        return None
    builds = [
        f"{framework_name(framework)} in {text_of(python.prefix)}"
        for python in facts.pythons
        for framework in python.frameworks
        if isinstance(framework.hip, str)
    ]
    if not builds and known_or(facts.amd.rocm, None) is None and known_or(facts.amd.rocdxg, None) is not True:
        return None
    what = f"{builds[0]} is built for ROCm" if builds else "ROCm is installed"
    why = f"Programs cannot use an AMD GPU in this WSL yet: {what}, but no GPU was found."
    return Refusal(", ".join(names), why, f"Follow {_ROCM_WSL}, then run this again. To use the CPU instead: --cpu.")


def step(entry: FindingEntry) -> SetupStep | None:
    """The first fix as a step; what is done outside of this container is for a person. None: there is no fix."""
    if not entry.fixes:
        return None
    fix = entry.fixes[0]
    made = msgspec.structs.replace(step_of(entry, fix), group="driver")
    if fix.place == "here":
        return made
    return msgspec.structs.replace(made, commands=tuple(map(Manual, fix.commands)), root=False, verify=(), undo=())


def without_gpu(report: Report) -> str:
    """Why a plan is for the CPU, where no GPU was found and nothing is in the way of one."""
    entry = next((one for one in report.findings if one.status != "fail" or one.check == _NO_GPU), None)
    if entry is None:
        return (
            "No GPU that frameworks can use was found, so this plan is for the CPU. If there is one, `gpudoctor check` "
            "shows what is in the way."
        )
    return f"{entry.message} This plan is for the CPU."
