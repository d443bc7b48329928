"""Packages that refuse a GPU's architecture, or choose kernels that are not compiled for it."""

from typing import Any

import pytest

from gpudoctor.checks.packages.gpu_unknown import gpu_unknown
from gpudoctor.checks.packages.undeclared_requirement import undeclared_requirement
from gpudoctor.facts import Facts, PackageImport, ServiceLine, ServiceLog
from gpudoctor.maybe import Unknown
from tests.builders import change, framework
from tests.checks.amd_machines import amd_host
from tests.checks.environments import A100, BLACKWELL, commands, environment, machine, one, package, severity, torch

LISTS = "RuntimeError: Unknown GPU architecture: {}. Supported architectures: ['native', 'gfx90a', 'gfx942', 'gfx1100']"
ASSERTS = "AssertionError: One of GPU archs of ['{}'] is invalid or not supported"
HOPPER = {"name": "NVIDIA H100 PCIe", "generation": "Hopper", "capability": "9.0", "chip": "GH100"}
FA3 = ("_C.so", "_C_flashattention3.so")


def refused(error: Any, gfx: Any = "gfx1201", name: str = "amd-aiter", others: tuple[str, ...] = ("vllm",)) -> Facts:
    """A machine with one AMD GPU on which the imports of these packages raise an error."""
    rocm = framework("torch", "2.9.0+rocm7.0", variant="rocm", cuda=None, hip="7.0.1")
    names = (name, *others)
    found = environment(rocm, packages=tuple(package(n, "0.12.0") for n in names))
    imports = tuple(PackageImport(package=n, version="0.12.0", module=n.replace("-", "_"), error=error) for n in names)
    facts = change(amd_host(), "pythons", change(found, "pythons.0.imports", imports).pythons)
    return change(facts, "gpus.0.gfx", gfx)


@pytest.mark.parametrize(
    ("error", "gfx", "outcome"),
    [
        (LISTS.format("gfx1201"), "gfx1201", "problem"),
        (LISTS.format("gfx1151"), "gfx1151", "problem"),
        (ASSERTS.format("gfx1151"), "gfx1151", "problem"),
        ("ValueError: gfx90c is not supported by this backend", "gfx90c", "problem"),
        (LISTS.format("gfx1201"), "gfx1100", "pass"),  # supported: the error is about another GPU
        (LISTS.format("gfx1201"), "gfx942", "pass"),
        ("RuntimeError: out of memory on gfx1201", "gfx1201", "pass"),
        ("ImportError: libamdhip64.so.7: cannot open shared object file", "gfx1201", "pass"),
        (None, "gfx1201", "pass"),
    ],
)
def test_an_import_that_refuses_the_gpu(error: str | None, gfx: str, outcome: str) -> None:
    assert one(gpu_unknown, refused(error, gfx))[0] == outcome


def test_what_others_use_is_named_and_switched_off() -> None:
    facts = refused(LISTS.format("gfx1201"))
    _, message = one(gpu_unknown, facts)
    assert message.startswith("amd-aiter 0.12.0 does not support GPU 0")
    assert message.endswith("The same applies to vllm.")
    assert severity(gpu_unknown, facts) == "fail"
    typed = commands(gpu_unknown, facts)
    assert "export VLLM_ROCM_USE_AITER=0" in typed
    assert "uninstall -y amd-aiter" in typed
    assert "SGLANG_USE_AITER" not in typed
    assert "SGLANG_USE_AITER=0" in commands(gpu_unknown, refused(ASSERTS.format("gfx1201"), others=("sglang",)))
    plain = refused(LISTS.format("gfx1201"), name="fused-kernels", others=())
    assert "uninstall" not in commands(gpu_unknown, plain)  # nothing here uses it in place of its own


def test_a_package_that_is_missing_as_well_is_the_lesser_problem() -> None:
    assert severity(undeclared_requirement, refused(LISTS.format("gfx1201"))) == "warn"
    assert severity(undeclared_requirement, refused("ModuleNotFoundError: No module named 'amdsmi'")) == "fail"
    assert severity(undeclared_requirement, refused(None)) == "fail"


@pytest.mark.parametrize(
    ("version", "libraries", "card", "outcome"),
    [
        ("0.0.30", FA3, BLACKWELL, "problem"),
        ("0.0.31.post1", ("_C.so",), {**BLACKWELL, "capability": "10.0"}, "problem"),  # in flash_attn_3/_C.so
        ("0.0.32.post2", ("_C.so",), BLACKWELL, "problem"),
        ("0.0.32+8354497.d20250901", ("_C.so",), BLACKWELL, "pass"),  # perhaps built without it
        ("0.0.30", ("_C_flashattention3.abi3.so",), BLACKWELL, "problem"),
        ("0.0.30", FA3, HOPPER, "pass"),
        ("0.0.30", FA3, A100, "pass"),
        ("0.0.30", ("_C.so",), BLACKWELL, "pass"),  # built without it
        ("0.0.33", FA3, BLACKWELL, "pass"),
        ("0.0.27", FA3, BLACKWELL, "pass"),
        ("0.0.30", FA3, {"capability": Unknown("lost")}, "unknown"),
        ("0.0.33", FA3, {"capability": Unknown("lost")}, "pass"),
    ],
)
def test_kernels_of_an_older_generation(
    version: str, libraries: tuple[str, ...], card: dict[str, Any], outcome: str
) -> None:
    found = package("xformers", version, libraries=libraries)
    facts = environment(torch(), packages=(found,), facts=machine(card=card))
    assert one(gpu_unknown, facts)[0] == outcome
    if outcome == "problem":
        assert severity(gpu_unknown, facts) == "warn"
        assert "xformers>=0.0.33" in commands(gpu_unknown, facts)


NOT_SUPPORTED = ServiceLine(
    service="python", symptom="ct2-int8", text="RuntimeError: cuBLAS failed with status CUBLAS_STATUS_NOT_SUPPORTED"
)


@pytest.mark.parametrize(
    ("name", "version", "card", "severe", "typed"),
    [
        ("ctranslate2", "4.6.0", BLACKWELL, "advice", "ctranslate2>=4.6.2"),
        ("ctranslate2", "4.6.2", BLACKWELL, None, ""),
        ("ctranslate2", "4.6.0", HOPPER, None, ""),
        ("tensorrt-cu12", "10.7.0", BLACKWELL, "warn", "tensorrt-cu12>=10.8"),
        ("tensorrt", "10.8.0", BLACKWELL, None, ""),
        ("flash-attn-3", "3.0.0b1", BLACKWELL, "warn", "attn_implementation"),
        ("flash-attn-3", "3.0.0b1", HOPPER, None, ""),
    ],
)
def test_releases_that_fail_on_newer_gpus(
    name: str, version: str, card: dict[str, Any], severe: str | None, typed: str
) -> None:
    facts = environment(torch(), packages=(package(name, version),), facts=machine(card=card))
    assert one(gpu_unknown, facts)[0] == ("problem" if severe else "pass")
    if severe:
        assert severity(gpu_unknown, facts) == severe
        assert typed in commands(gpu_unknown, facts)
        assert "999" not in commands(gpu_unknown, facts)


def test_a_message_of_a_service_shows_what_may_not_happen_to_every_program() -> None:
    facts = environment(torch(), packages=(package("ctranslate2", "4.6.0"),), facts=machine(card=BLACKWELL))
    assert severity(gpu_unknown, change(facts, "services", ServiceLog(lines=(NOT_SUPPORTED,)))) == "warn"
    assert severity(gpu_unknown, change(facts, "services", ServiceLog(lines=Unknown("closed")))) == "advice"


PADDLE = "https://www.paddlepaddle.org.cn/packages/stable/cu129/"


@pytest.mark.parametrize(
    ("version", "requires", "card", "chosen"),
    [
        ("2.6.2", (), BLACKWELL, "3.2.0"),
        ("3.0.0", ("nvidia-cuda-runtime-cu12==12.6.77; platform_system == 'Linux'",), BLACKWELL, "3.2.0"),
        ("3.2.2", ("nvidia-cuda-runtime-cu12 (==12.6.77)",), BLACKWELL, "3.2.2"),
        ("3.2.2", ("nvidia-cuda-runtime-cu11==11.8.89",), BLACKWELL, "3.2.2"),
        ("3.2.2", ("nvidia-cuda-runtime-cu12==12.9.79",), BLACKWELL, None),
        ("3.3.0", ("nvidia-cuda-runtime==13.0.48",), BLACKWELL, None),
        ("3.2.2", ("nvidia-cuda-runtime-cu12==12.6.77",), HOPPER, None),
    ],
)
def test_paddle_has_a_build_for_each_cuda(
    version: str, requires: tuple[str, ...], card: dict[str, Any], chosen: str | None
) -> None:
    paddle = package("paddlepaddle-gpu", version, requires=requires)
    facts = environment(packages=(paddle,), facts=machine(card=card))
    assert one(gpu_unknown, facts)[0] == ("problem" if chosen else "pass")
    if chosen:
        typed = commands(gpu_unknown, facts)
        assert f"paddlepaddle-gpu=={chosen}" in typed
        assert f"--index-url {PADDLE}" in typed
