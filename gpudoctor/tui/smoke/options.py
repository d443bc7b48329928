"""What can be chosen on this machine: tests, backends, devices, data types, and what a first run does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor.facts import Facts, Framework
from gpudoctor.registry import BY_MODULE
from gpudoctor.smoketests.devices import SmokeDevice, cpu, targets
from gpudoctor.smoketests.options import ChoiceError, SmokeOptions
from gpudoctor.smoketests.plan import FRAMEWORKS, ORDER, TITLES
from gpudoctor.smoketests.suite import DTYPES, MOST_STRESS, STRESS_SECONDS, TESTS

# Seconds of stress that can be stepped through; the last is the most that the tests take.
SECONDS = (5, STRESS_SECONDS, 30, 60, 120, 300, MOST_STRESS)
OWN = {"driver": "no framework needed", "cpu": "for comparison"}
# Of each group its heading, and the sentence where nothing in it is chosen.
HEADINGS = {"tests": "Tests", "backends": "Run with", "devices": "On", "dtypes": "Data types of matmul"}
NONE_CHOSEN = {
    "tests": "Select at least one test.",
    "backends": "Select at least one backend.",
    "devices": "Select at least one device.",
    "dtypes": "Select at least one data type.",
}


NO_GPU = "No GPU found. You can select the CPU instead, but that proves nothing about a GPU."


class SmokeOption(msgspec.Struct, frozen=True):
    """One thing to choose: its value in a Choice, its name and what it is for people, and whether it is preset."""

    value: str
    name: str
    about: str = ""
    preset: bool = True


Groups = Mapping[str, tuple[SmokeOption, ...]]
Picked = Mapping[str, tuple[str, ...]]


def groups(facts: Facts | None) -> Groups:
    """All groups by name; without facts backends and devices are not known yet."""
    return {
        "tests": tuple(SmokeOption(test.name, test.name, test.shows, test.quick) for test in TESTS),
        "backends": tuple(_backends(facts)) if facts else (),
        "devices": tuple(_devices(facts)) if facts else (),
        "dtypes": tuple(SmokeOption(name, name) for name in DTYPES),
    }


def preset(options: Iterable[SmokeOption]) -> tuple[str, ...]:
    """The values that are chosen when nobody has chosen."""
    return tuple(option.value for option in options if option.preset)


def choice(options: Groups, picked: Picked, seconds: int) -> SmokeOptions:
    """What was picked, as the smoke tests take it; a group as it was preset counts as not chosen.

    Raises:
        ChoiceError: nothing is picked in a group.
    """
    for name, sentence in NONE_CHOSEN.items():
        if not picked.get(name):
            raise ChoiceError(NO_GPU if name == "devices" and _cpu_alone(options[name]) else sentence)

    def chosen(name: str) -> tuple[str, ...]:
        values = tuple(picked[name])
        return () if set(values) == set(preset(options[name])) else values

    return SmokeOptions(
        tests=tuple(picked["tests"]),
        backends=chosen("backends"),
        devices=chosen("devices"),
        dtypes=chosen("dtypes"),
        seconds=seconds,
    )


def _cpu_alone(devices: Iterable[SmokeOption]) -> bool:
    return [option.value for option in devices] == ["cpu"]


# -- backends ------------------------------------------------------------------------------------------------


def _backends(facts: Facts) -> Iterator[SmokeOption]:
    """The frameworks installed, then what runs without any; preset as `gpudoctor.smoketests.plan` chooses."""
    found: dict[str, list[Framework]] = {}
    listed = [f for python in facts.pythons for f in python.frameworks if f.name in FRAMEWORKS]
    for framework in sorted(listed, key=lambda f: ORDER[f.name]):
        found.setdefault(framework.name, []).append(framework)
    gpus = [target for target in _there(facts) if target.kind != "cpu"]
    cuda = any(target.kind == "cuda" for target in gpus)
    usable = [name for name in found if gpus or BY_MODULE[name].cpu_proof]
    for name, ones in found.items():
        about = ", ".join(dict.fromkeys(_built(one) for one in ones))
        yield SmokeOption(FRAMEWORKS[name], TITLES[FRAMEWORKS[name]], about, name in usable)
    own = ["driver"] * cuda + ["cpu"]
    for name in own:
        yield SmokeOption(name, _own_title(name), OWN[name], not usable and name == own[0])


def _own_title(name: str) -> str:
    title = TITLES[name].removeprefix("the ")
    return f"{title} on the CPU" if name == "cpu" else title


def _built(framework: Framework) -> str:
    """Version, and for what it was built."""
    version = framework.version if isinstance(framework.version, str) else ""
    for name, built in (("CUDA", framework.cuda), ("ROCm", framework.hip)):
        if isinstance(built, str):
            return f"{version} {name} {built}".strip()
    return f"{version} for the CPU".strip() if framework.cuda is None and framework.hip is None else version


# -- devices -------------------------------------------------------------------------------------------------


def _devices(facts: Facts) -> Iterator[SmokeOption]:
    """Every GPU, preset; the CPU, which proves nothing about a GPU, for those who chooses it."""
    gpus = [target for target in _there(facts) if target.kind != "cpu"]
    for target in gpus:
        yield SmokeOption(_word(target), target.label, target.name or "")
    yield SmokeOption("cpu", cpu().label, "", preset=False)


def _there(facts: Facts) -> tuple[SmokeDevice, ...]:
    found = targets(facts)
    return found if isinstance(found, tuple) else ()


def _word(target: SmokeDevice) -> str:
    """What names it to gpudoctor.smoketests.devices.targets, and names no other."""
    return target.uuid or target.address or target.gpu or target.label.removeprefix("GPU ")
