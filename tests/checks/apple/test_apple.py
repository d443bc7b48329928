"""Macs: what keeps frameworks from Apple's GPU."""

# ruff: noqa: E501 - a sentence that is compared stays on one line.

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, judge, run
from gpudoctor.facts import AppleFacts, Distribution, Facts, Framework, Gpu, Kernel, LiveFramework, Package
from gpudoctor.knowledge import apple
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, framework, host, live, plain_host, python

CHECKS = {one.id: one for one in catalogue.load()}
MACOS = Distribution(id="macos", version="14.5", codename=None, name="macOS 14.5")
UNREADABLE = Unknown("not to be read")
M2 = Gpu(vendor="apple", index=0, address=None, name="Apple M2 Pro", integrated=True, status="ok")
PATH = "/opt/env/bin/python"


def torch(gpus: int = 1, built: Any = True, **changes: Any) -> Framework:
    """PyTorch for Apple silicon, imported."""
    plain: dict[str, Any] = {"variant": "mps", "cuda": None, "archs": (), "live": live(gpus, mps_built=built)}
    return framework(version="2.9.1", **(plain | changes))


def mac(*frameworks: Framework, packages: tuple[str, ...] = (), **changes: Any) -> Facts:
    """A healthy Mac with an M2 Pro and an environment."""
    found = tuple(Package(name=n, version=v, directory="/x") for n, v in (p.split("==") for p in packages))
    own = python(*frameworks, architecture="arm64", packages=found)
    facts = plain_host(
        host=host(system="Darwin", architecture="arm64", distribution=MACOS, kernel=Kernel(release="23.5.0")), gpus=(M2,), pythons=(own,),
        apple=AppleFacts(silicon=True, chip="Apple M2 Pro", macos="14.5"),
    )  # fmt: skip
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


def verdicts(name: str, facts: Facts) -> list[tuple[str, str]]:
    return ask(CHECKS[name], facts)


def problems(facts: Facts) -> list[tuple[str, str]]:
    return [(v.check.id, v.severity.value) for v in judge(facts, CHECKS.values()) if v.outcome is Outcome.PROBLEM]


JAX = framework("jax", "0.4.34", variant="cpu", cuda=None, live=live(0))


@pytest.mark.parametrize(
    "facts",
    [
        mac(torch()),
        mac(),
        mac(torch(live=None)),
        mac(torch(), framework("tensorflow", "2.18.1", variant="cpu", cuda=None, live=live(0))),
        mac(JAX),
        mac(apple__silicon=False, apple__chip="Intel", gpus=(), pythons__0__architecture="x86_64"),
        mac(torch(0, variant="cpu"), apple__silicon=False, gpus=(), pythons__0__architecture="x86_64"),
    ],
    ids=["PyTorch", "nothing", "quick", "TensorFlow beside PyTorch", "JAX", "Intel", "Intel with PyTorch"],
)
def test_a_healthy_mac_hears_nothing(facts: Facts) -> None:
    assert problems(facts) == []
    assert [v for v in judge(facts, CHECKS.values()) if v.outcome is Outcome.BROKEN] == []


def test_elsewhere_nobody_is_asked() -> None:
    facts = mac(torch(0), host__system="Linux")
    asked = [v.check.id for v in judge(facts, CHECKS.values()) if v.outcome is not Outcome.SKIPPED]
    assert [id_ for id_ in asked if id_.startswith("apple.")] == []


ROSETTA = f"{PATH} is an x86_64 program, but this Mac has Apple M2 Pro: packages that it installs cannot use the GPU."


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (mac(torch(), pythons__0__architecture="x86_64"), ("problem", ROSETTA), "fail"),
        (mac(pythons__0__architecture="x86_64"), ("problem", ROSETTA), "warn"),
        (mac(torch()), ("pass", ""), ""),
        (mac(pythons__0__architecture="x86_64", apple__silicon=False), ("pass", ""), ""),
        (mac(pythons__0__architecture="x86_64", apple__silicon=UNREADABLE), ("unknown", "not to be read"), ""),
        (mac(pythons__0__architecture=UNREADABLE), ("unknown", "not to be read"), ""),
    ],
)
def test_rosetta_python(facts: Facts, verdict: tuple[str, str], severity: str) -> None:
    assert verdicts("apple.rosetta-python", facts) == [verdict]
    assert [v.severity.value for v in run(CHECKS["apple.rosetta-python"], facts) if v.problem] == [severity][
        : bool(severity)
    ]


def test_rosetta_is_the_one_cause_that_is_told() -> None:
    facts = mac(torch(0, built=False, variant="cpu"), pythons__0__architecture="x86_64")
    assert set(problems(facts)) == {("apple.rosetta-python", "fail"), ("apple.mps-not-built", "fail")}
    assert CHECKS["apple.mps-not-built"].explains_through("apple.rosetta-python")


NOT = "PyTorch 2.9.1 is built for the Apple GPU but reports that MPS is not available"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (mac(torch()), ("pass", "")),
        (mac(torch(0)), ("problem", f"{NOT}.")),
        (mac(torch(0), apple__macos="13.7.4"), ("problem", f"{NOT}: it needs macOS 14.0, and this is 13.7.4.")),
        (mac(torch(0), apple__macos=UNREADABLE), ("problem", f"{NOT}.")),
        (mac(torch(0, built=False)), ("pass", "")),
        (mac(torch(0), apple__silicon=False), ("pass", "")),
        (mac(torch(0), apple__silicon=UNREADABLE), ("unknown", "not to be read")),
        (mac(torch(live=live(mps_built=True, available=UNREADABLE))), ("unknown", "not to be read")),
        (mac(torch(live=LiveFramework(stage="import", import_error="ImportError: x"))), ("pass", "")),
        (mac(torch(live=None)), ("skipped", "")),
    ],
)
def test_mps_unavailable(facts: Facts, verdict: tuple[str, str]) -> None:
    assert verdicts("apple.mps-unavailable", facts) == [verdict]


@pytest.mark.parametrize(
    ("macos", "commands"),
    [
        ("13.7.4", [("softwareupdate --list",), (f"{PATH} -m pip install 'torch<2.9'",)]),
        ("12.7.6", [("softwareupdate --list",), (f"{PATH} -m pip install 'torch<2.5'",)]),
        ("12.2.1", [("softwareupdate --list",)]),
        ("14.5", [("system_profiler SPDisplaysDataType",)]),
    ],
)
def test_an_old_macos_keeps_an_older_pytorch(macos: str, commands: list[tuple[str, ...]]) -> None:
    (verdict,) = run(CHECKS["apple.mps-unavailable"], mac(torch(0), apple__macos=macos))
    assert [fix.commands for fix in verdict.fixes] == commands


@pytest.mark.parametrize(
    ("built", "silicon", "verdict"),
    [
        (True, True, ("pass", "")),
        (False, True, ("problem", "PyTorch 2.9.1 is built without MPS, so it runs on the CPU.")),
        (False, False, ("pass", "")),
        (None, True, ("pass", "")),
        (False, UNREADABLE, ("unknown", "not to be read")),
        (UNREADABLE, True, ("unknown", "not to be read")),
    ],
)
def test_mps_not_built(built: Any, silicon: Any, verdict: tuple[str, str]) -> None:
    assert verdicts("apple.mps-not-built", mac(torch(0, built=built), apple__silicon=silicon)) == [verdict]


def tensorflow(version: Any = "2.20.0", **changes: Any) -> Framework:
    return framework("tensorflow", version, **({"variant": "cpu", "cuda": None, "live": live(0)} | changes))


FAILED = LiveFramework(
    stage="import", import_error="tensorflow.python.framework.errors_impl.NotFoundError: Symbol not found"
)


@pytest.mark.parametrize(
    ("found", "metal", "verdict", "severity"),
    [
        (tensorflow(live=FAILED), "1.2.0", "tensorflow-metal 1.2.0 is installed with TensorFlow 2.20.0, which it does not support.", "fail"),
        (tensorflow(live=None), "1.2.0", "tensorflow-metal 1.2.0 is installed with TensorFlow 2.20.0, which it does not support.", "warn"),
        (tensorflow("2.18.0", live=FAILED), "1.1.0", "tensorflow-metal 1.1.0 is installed with TensorFlow 2.18.0, which it does not support.", "fail"),
        (tensorflow("2.18.1"), "1.2.0", "", ""),
        (tensorflow(live=live(1)), "1.2.0", "", ""),
        (tensorflow(), "3.0.0", "", ""),
    ],
)  # fmt: skip
def test_tensorflow_metal_mismatch(found: Framework, metal: str, verdict: str, severity: str) -> None:
    (one,) = run(CHECKS["apple.tensorflow-metal-mismatch"], mac(found, packages=(f"tensorflow-metal=={metal}",)))
    assert (one.message, one.severity.value if one.problem else "") == (verdict, severity)


def test_an_unknown_tensorflow_is_unknown_and_one_without_the_plug_in_is_advised() -> None:
    unknown = mac(tensorflow(UNREADABLE), packages=("tensorflow-metal==1.2.0",))
    assert verdicts("apple.tensorflow-metal-mismatch", unknown) == [("unknown", "not to be read")]
    assert problems(mac(tensorflow())) == [("apple.tensorflow-metal-missing", "advice")]
    assert verdicts("apple.tensorflow-metal-missing", mac(tensorflow(), torch())) == [("pass", "")]
    assert verdicts("apple.tensorflow-metal-missing", mac(tensorflow(), apple__silicon=False)) == [("pass", "")]
    assert verdicts("apple.tensorflow-metal-missing", mac(tensorflow(), pythons__0__packages=UNREADABLE)) == [
        ("unknown", "not to be read")
    ]


@pytest.mark.parametrize(
    ("jax", "verdict"),
    [
        ("0.4.38", ("pass", "")),
        ("0.5.0", ("problem", "jax-metal 0.1.1 is installed with JAX 0.5.0, which is newer than it supports.")),
        (UNREADABLE, ("unknown", "not to be read")),
    ],
)
def test_jax_metal_mismatch(jax: Any, verdict: tuple[str, str]) -> None:
    facts = mac(JAX, packages=("jax-metal==0.1.1",), pythons__0__frameworks__0__version=jax)
    assert verdicts("apple.jax-metal-mismatch", facts) == [verdict]
    assert verdicts("apple.jax-metal-mismatch", mac(JAX)) == [("pass", "")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.0", "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 lets PyTorch allocate without a limit."),
        ("1.4", ""),
        ("", ""),
        ("off", ""),
    ],
)
def test_memory_limit_off(value: str, message: str) -> None:
    facts = mac(torch(), host__environment={"PYTORCH_MPS_HIGH_WATERMARK_RATIO": value})
    assert verdicts("apple.memory-limit-off", facts) == [("problem" if message else "pass", message)]


@pytest.mark.parametrize(
    ("torch", "macos"), [("2.9.1", "14.0"), ("2.5.1", "13.0"), ("2.2.2", "12.3"), ("1.11.0", None)]
)
def test_the_floors_of_macos(torch: str, macos: str | None) -> None:
    assert apple.macos_for(torch) == macos
