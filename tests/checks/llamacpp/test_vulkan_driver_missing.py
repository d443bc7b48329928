"""llama.cpp with Vulkan, where no driver of Vulkan for the GPU is registered."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.llamacpp.vulkan_driver_missing import vulkan_driver_missing
from gpudoctor.facts import Facts, LlamaCpp, Need
from gpudoctor.facts.host import Distribution
from gpudoctor.facts.llama_cpp import GgmlBackend
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands
from tests.checks.intel_machines import arc_host

PROGRAM = "/app/llama-server"
LVP, RADV, ANV, NVIDIA = "libvulkan_lvp.so", "libvulkan_radeon.so", "libvulkan_intel.so", "libGLX_nvidia.so.0"
WHY = Unknown("Flatpak")


def backend(kind: str, *missing: str) -> GgmlBackend:
    path = f"/app/libggml-{kind}.so"
    needs = tuple(Need(soname=name, needed_by=path) for name in missing)
    return GgmlBackend(kind=kind, path=path, linked=False, missing=needs)


def having(facts: Facts, drivers: Any, *kinds: GgmlBackend) -> Facts:
    backends = kinds or (backend("vulkan"),)
    return change(facts, "llama_cpp", LlamaCpp(program=PROGRAM, backends=backends, vulkan_drivers=drivers))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (having(amd_host(), ()), "problem"),
        (having(amd_host(), (LVP,)), "problem"),
        (having(amd_host(), (LVP, ANV)), "problem"),
        (having(amd_host(), (LVP, RADV)), "pass"),
        (having(amd_host(), ("amdvlk64.so",)), "pass"),
        (having(amd_host(), ("libvulkan_virtio.so",)), "pass"),  # may serve any
        (having(amd_host(), ("broken.json",)), "pass"),
        (having(nvidia_host(), (RADV,)), "problem"),
        (having(nvidia_host(), (NVIDIA,)), "pass"),
        (having(arc_host(), ()), "problem"),
        (having(arc_host(), (ANV,)), "pass"),
        # Another backend serves the GPU, or its own library is missing, which another check reports.
        (having(nvidia_host(), (), backend("vulkan"), backend("cuda")), "pass"),
        (having(nvidia_host(), (), backend("vulkan", "libvulkan.so.1")), "pass"),
        (having(amd_host(), None), "pass"),
        (having(amd_host(), WHY), "unknown"),
        (change(having(amd_host(), ()), "llama_cpp.backends", WHY), "unknown"),
        (change(having(amd_host(), ()), "llama_cpp.program", None), "skipped"),
        # /dev/dri without /dev/kfd is enough for Vulkan.
        (change(having(amd_host(), ()), "amd.kfd", ()), "problem"),
        (change(having(amd_host(), ()), "amd.render", ()), "skipped"),
    ],
)
def test_vulkan_driver_missing(facts: Facts, verdict: str) -> None:
    found = [result.outcome.value for result in run(vulkan_driver_missing, facts)] or ["skipped"]
    assert found == [verdict]


def test_what_it_says() -> None:
    [(outcome, message)] = ask(vulkan_driver_missing, having(amd_host(), (LVP,)))
    assert outcome == "problem"
    assert message.startswith(f"llama.cpp ({PROGRAM}) computes with Vulkan alone, and no Vulkan driver for GPU 0 (")
    assert message.endswith(f") is registered; there is only {LVP}.")


@pytest.mark.parametrize(
    ("distribution", "facts", "typed"),
    [
        ("ubuntu", amd_host(), "apt-get install mesa-vulkan-drivers"),
        ("fedora", arc_host(), "dnf install mesa-vulkan-drivers"),
        ("arch", amd_host(), "pacman -S vulkan-radeon"),
        ("arch", arc_host(), "pacman -S vulkan-intel"),
        ("gentoo", amd_host(), "in the package that this system has for it"),
    ],
)
def test_the_package_of_this_system(distribution: str, facts: Facts, typed: str) -> None:
    facts = change(having(facts, ()), "host.distribution", Distribution(id=distribution, version="", like=()))
    assert typed in commands(vulkan_driver_missing, facts)


def test_nvidias_is_a_part_of_its_driver() -> None:
    host = commands(vulkan_driver_missing, having(nvidia_host(), ()))
    assert "-DGGML_CUDA=ON" in host
    assert "libnvidia-gl-BRANCH" in host
    image = commands(vulkan_driver_missing, change(having(nvidia_host(), ()), "host.container", "docker"))
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility" in image
    assert "libnvidia-gl-BRANCH" not in image
