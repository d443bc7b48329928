"""Checks that several frameworks share: each is asked the same, so that no copy of them drifts apart again."""

from typing import Any

import msgspec
import pytest

from gpudoctor import catalogue, checks
from gpudoctor.check_engine import Check, run
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, gpu, live, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import BLACKWELL, PASCAL, commands, environment, machine, one, severity

MODULES = {"pytorch": "torch", "tensorflow": "tensorflow", "cupy": "cupy", "jax": "jax", "onnxruntime": "onnxruntime"}
CHECKS = {one.id: one for one in catalogue.load([i for i in checks.ids() if i.split(".")[0] in MODULES])}
each = pytest.mark.parametrize("area", MODULES)


def family(name: str) -> list[str]:
    """The areas that have a check of this name."""
    return [area for area in MODULES if f"{area}.{name}" in CHECKS]


def check(area: str, name: str) -> Check[Any]:
    return CHECKS[f"{area}.{name}"]


def built(area: str, **changes: Any) -> Any:
    """A framework for CUDA, with what each needs to name its build."""
    plain = {"plugin": None, "distribution": {"cupy": "cupy-cuda12x"}.get(area, MODULES[area]), "variant": "cuda"}
    return framework(MODULES[area], "1.2", **(plain | changes))


def texts(one: Check[Any], facts: Facts) -> str:
    """All that a person reads about a problem."""
    (verdict,) = run(one, facts)
    assert verdict.problem is not None
    fixes = [text for fix in verdict.fixes for text in (fix.message, *fix.commands)]
    return "\n".join((verdict.message, *verdict.problem.evidence, verdict.problem.cause or "", *fixes))


def test_the_families_are_whole() -> None:
    assert {name: len(family(name)) for name in ("driver-too-old", "import-fails", "import-hangs", "no-gpu")} == {
        "driver-too-old": 5,
        "import-fails": 5,
        "import-hangs": 5,
        "no-gpu": 5,
    }
    assert family("arch-missing") == ["pytorch", "tensorflow", "cupy", "jax", "onnxruntime"]
    assert family("crashes") == ["tensorflow", "cupy", "jax", "onnxruntime"]  # PyTorch's is import-crashes


@each
@pytest.mark.parametrize(
    ("cuda", "changes", "needs"),
    [
        ("13.0", {}, " and requires driver 580 or newer;"),
        ("14.0", {}, ";"),  # no table has the floor of a CUDA release that NVIDIA has not made
        ("12.4", {"host.system": "Windows"}, " and requires driver 528.33 or newer;"),
        ("12.4", {"host.wsl": 2}, " and requires driver 528.33 or newer;"),  # WSL's driver is Windows' own
    ],
)
def test_a_driver_too_old_is_reported_alike_with_the_floor_of_this_system(
    area: str, cuda: str, changes: dict[str, Any], needs: str
) -> None:
    facts = environment(built(area, cuda=cuda), facts=machine("11.4"))
    for path, value in changes.items():
        facts = change(facts, path, value)
    read = texts(check(area, "driver-too-old"), facts)
    assert f" is built for CUDA {cuda}{needs} the driver 570.169 (CUDA 11.4) is too old and supports at most" in read
    assert "None" not in read
    assert "nknown" not in read


@each
def test_a_driver_of_an_unknown_cuda_release_is_no_problem_and_no_pass(area: str) -> None:
    silent = change(machine(), "nvidia.cuda.version", Unknown("no answer"))
    silent = change(silent, "nvidia.nvml.cuda_version", Unknown("no answer"))
    assert one(check(area, "driver-too-old"), environment(built(area, cuda="14.0"), facts=silent)) == (
        "unknown",
        "no answer",
    )


def two_gpus(first: dict[str, Any], second: dict[str, Any]) -> Facts:
    return msgspec.structs.replace(machine("13.0"), gpus=(gpu(0, **first), gpu(1, **second)))


# For CUDA 13, which dropped Pascal.
FOR_13: dict[str, dict[str, Any]] = {
    "pytorch": {"archs": ("sm_75", "sm_90", "sm_120"), "cuda": "13.0"},
    "tensorflow": {"archs": ("sm_75", "sm_90", "sm_120"), "cuda": "13.0"},
    "cupy": {"distribution": "cupy-cuda13x", "cuda": "13"},
    "jax": {"plugin": "jax-cuda13-plugin", "plugin_version": "0.9.2", "cuda": "13"},
}


@pytest.mark.parametrize("area", FOR_13)
def test_a_gpu_without_code_is_an_error_alone_and_advice_next_to_one_with_code(area: str) -> None:
    arch, old = check(area, "arch-missing"), built(area, live=None, **FOR_13[area])
    alone = environment(old, facts=machine("13.0", card=PASCAL))
    assert severity(arch, alone) == "fail"
    assert " has no kernels for GPU 0 (NVIDIA GeForce GTX 1080 Ti, Pascal, compute cap" in one(arch, alone)[1]
    mixed = environment(old, facts=two_gpus(BLACKWELL, PASCAL))
    assert severity(arch, mixed) == "advice"
    assert "GPU 1 (NVIDIA GeForce GTX 1080 Ti" in one(arch, mixed)[1]
    both = environment(old, facts=two_gpus(PASCAL, PASCAL))
    assert severity(arch, both) == "fail"
    assert "sm_61) and 1 more: " in one(arch, both)[1]


@pytest.mark.parametrize("area", FOR_13)
def test_a_gpu_of_unknown_capability_hides_no_other_and_is_no_pass(area: str) -> None:
    arch, old = check(area, "arch-missing"), built(area, live=None, **FOR_13[area])
    lost = {"capability": Unknown("lost")}
    assert one(arch, environment(old, facts=two_gpus(lost, PASCAL)))[0] == "problem"
    assert one(arch, environment(old, facts=two_gpus(lost, BLACKWELL))) == ("unknown", "lost")


@each
def test_a_build_for_rocm_that_uses_no_amd_gpu_is_a_problem_as_one_for_cuda(area: str) -> None:
    refused = live(0, error="hipErrorNoDevice")
    rocm = built(area, variant="rocm", cuda=None, hip="6.3", live=refused)
    (outcome, message) = one(check(area, "no-gpu"), with_framework(rocm, amd_host()))
    assert (outcome, message.partition(" does ")[2]) == ("problem", "not use GPU 0 (Radeon RX 7900 XTX).")
    assert one(check(area, "no-gpu"), with_framework(rocm, nvidia_host()))[0] == "pass"
    unknown = built(area, variant=Unknown("closed"), live=refused)
    assert one(check(area, "no-gpu"), with_framework(unknown, nvidia_host())) == ("unknown", "closed")


@pytest.mark.parametrize("area", family("wrong-vendor"))
def test_a_build_for_amd_next_to_nvidia_gpus_is_a_problem(area: str) -> None:
    rocm = built(area, variant="rocm", cuda=None, hip="6.3", live=None)
    read = texts(check(area, "wrong-vendor"), with_framework(rocm, nvidia_host()))
    assert " is built for ROCm 6.3, which is for AMD GPUs; GPU 0 (" in read
    assert "rocm-rel" not in commands(check(area, "wrong-vendor"), with_framework(rocm, nvidia_host()))
    assert one(check(area, "wrong-vendor"), with_framework(rocm, amd_host())) == ("pass", "")
    assert one(check(area, "wrong-vendor"), with_framework(rocm, plain_host())) == ("pass", "")


@pytest.mark.parametrize("area", MODULES)
@pytest.mark.parametrize(
    ("error", "by_library"), [("ImportError: libx.so: undefined symbol", True), ("TypeError: 'int'", False)]
)
def test_an_import_that_fails_in_python_is_no_consequence_of_a_library(area: str, error: str, by_library: bool) -> None:
    fails = check(area, "import-fails")
    (verdict,) = run(fails, with_framework(built(area, live=live(import_error=error))))
    own = [cause for cause in fails.caused_by if cause.startswith(f"{area}.")]
    assert verdict.may_follow_from("libraries.wheel-incomplete") is by_library
    excluded = {cause for cause in own if not verdict.may_follow_from(cause)}
    assert bool(excluded) is not by_library
