"""A laptop or desktop without any program for CUDA: what its user chose there is no error."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, Severity, run
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, with_framework
from tests.checks.nvidia_machines import having, unloaded
from tests.checks.test_false_alarms import DISPLAY

OFFICE: dict[str, Any] = {
    "host__platform": "laptop",
    "ollama__program": None,
    "llama_cpp__program": None,
    "containers__toolkit": None,
    "toolkits__nvccs": (),
    "pythons": (),
}
GONE: dict[str, Any] = {"pci": (), "gpus": (), "nvidia__nvml__count": 0}
INTEGRATED = unloaded(nvidia__kernel__blacklists=("nvidia",), nvidia__kernel__prime="intel", **OFFICE)
BY_TOOL = unloaded(
    nvidia__kernel__blacklists=("nvidia",),
    nvidia__kernel__switch="supergfxctl",
    nvidia__kernel__switch_files=("/etc/modprobe.d/supergfxd.conf",),
    **OFFICE,
)
BARE: dict[str, Any] = {
    "nvidia__nvml__libraries": (),
    "nvidia__cuda__libraries": (),
    "nvidia__kernel__dkms": None,
    "nvidia__kernel__packages": (),
    "nvidia__kernel__on_disk": (),
}
NOUVEAU = unloaded(**(OFFICE | BARE | {"pci": (DISPLAY,)}))
CHOSEN = {
    "prime-select": ("driver.blacklisted", INTEGRATED),
    "a tool": ("driver.blacklisted", BY_TOOL),
    "bbswitch": ("device.switched-off", unloaded(nvidia__kernel__bbswitch="OFF", **OFFICE)),
    "a rule": ("device.switched-off", unloaded(nvidia__kernel__switch="udev", **(OFFICE | GONE))),
    "prime-select, off the bus": ("device.switched-off", unloaded(nvidia__kernel__prime="intel", **(OFFICE | GONE))),
    "nouveau on a laptop": ("driver.not-installed", NOUVEAU),
    "nouveau on a desktop": ("driver.not-installed", change(NOUVEAU, "host.platform", "bare")),
}
FOLLOWS = {
    "driver.not-loaded": {},
    "driver.nvml-error": {"nvidia__nvml__code": 9},
    "driver.cuda-error": {"nvidia__cuda__code": 100},
}
WANTED = {
    "a framework": lambda facts: with_framework(framework(), facts),
    "Ollama": lambda facts: change(facts, "ollama.program", "/usr/local/bin/ollama"),
    "tools for containers": lambda facts: change(facts, "containers.toolkit", "1.18.0"),
    "who knows": lambda facts: change(facts, "llama_cpp.program", Unknown("not looked for")),
    "a server": lambda facts: change(facts, "host.platform", "vm"),
}


def _severity(id_: str, facts: Facts) -> set[Severity | None]:
    (check,) = catalogue.load([id_])
    return {v.severity for v in run(check, facts) if v.outcome is Outcome.PROBLEM}


@pytest.mark.parametrize(("id_", "facts"), CHOSEN.values(), ids=CHOSEN)
def test_nobody_needs_the_gpu(id_: str, facts: Facts) -> None:
    assert _severity(id_, facts) == {Severity.WARNING}


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize(("id_", "facts"), CHOSEN.values(), ids=CHOSEN)
def test_a_program_needs_it(id_: str, facts: Facts, wanted: Any) -> None:
    assert _severity(id_, wanted(facts)) == {Severity.ERROR}


@pytest.mark.parametrize(
    ("id_", "facts"),
    [
        ("driver.blacklisted", change(INTEGRATED, "nvidia.kernel.prime", None)),  # by whoever wrote the line
        ("driver.not-installed", having(NOUVEAU, host__platform="bare", pci__0__class_code="030200")),
        ("driver.not-installed", change(NOUVEAU, "pci.0.driver", None)),
    ],
)
def test_what_nobody_chose(id_: str, facts: Facts) -> None:
    assert _severity(id_, facts) == {Severity.ERROR}


@pytest.mark.parametrize(("id_", "changes"), FOLLOWS.items())
@pytest.mark.parametrize("wanted", [False, True])
def test_what_follows_is_no_worse(id_: str, changes: dict[str, Any], wanted: bool) -> None:
    facts = having(INTEGRATED, **changes)
    severity = _severity(id_, WANTED["a framework"](facts) if wanted else facts)
    assert severity == {Severity.ERROR if wanted else Severity.WARNING}


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, Severity.ADVICE),
        ({"containers__docker_config_runtimes": ("nvidia",)}, Severity.WARNING),
        ({"host__platform": "bare"}, Severity.WARNING),
        ({"ollama__program": "/usr/local/bin/ollama"}, Severity.WARNING),
    ],
)
def test_docker_on_a_laptop_need_not_have_the_gpu(changes: dict[str, Any], severity: Severity) -> None:
    docker = {"containers__docker": "/usr/bin/docker", "containers__docker_runtimes": ("runc",)}
    assert _severity("container.toolkit-missing", having(**(OFFICE | docker | changes))) == {severity}
