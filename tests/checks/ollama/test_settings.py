"""Ollama: what it needs of NVIDIA's driver, and the variables that its service starts with."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.ollama.driver_too_old import driver_too_old
from gpudoctor.checks.ollama.library_not_there import library_not_there
from gpudoctor.checks.ollama.service_hides_gpus import service_hides_gpus
from gpudoctor.checks.ollama.vulkan_unmasked import vulkan_unmasked
from gpudoctor.facts import Facts
from gpudoctor.facts.host import Distribution
from gpudoctor.facts.ollama import NO_SERVICE, OllamaService, OllamaSetting
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, gpu, host, nvidia_host
from tests.checks.environments import PASCAL, commands, severity
from tests.checks.ollama.test_ollama import ollama

UNIT = "/etc/systemd/system/ollama.service"
PASS = [("pass", "")]
MASK, LIBRARY = "CUDA_VISIBLE_DEVICES", "OLLAMA_LLM_LIBRARY"
WHY = Unknown("closed")


def setting(name: str, value: str, path: str = UNIT) -> OllamaSetting:
    return OllamaSetting(name=name, value=value, path=path)


def installed(*given: OllamaSetting, facts: Facts | None = None, **changes: Any) -> Facts:
    """Ollama 0.31 with the libraries of its own builds."""
    backends = changes.pop("backends", ("base", "cpu", "cuda", "vulkan"))
    own: dict[str, Any] = {
        "release": "0.31.1",
        "folders": ("cuda_v12", "cuda_v13", "vulkan"),
        "cudart": "12.8",
        "vulkan_driver": True,
    }
    service = OllamaService(user="ollama", groups=(996,)) if any(one.path for one in given) else NO_SERVICE
    own |= {"settings": given, "backends": backends, "service": service}
    return ollama(facts or nvidia_host(), **(own | changes))


def driven(driver: str, *cards: dict[str, Any], **changes: Any) -> Facts:
    """GPUs with a driver of this version, and Ollama."""
    found = tuple(gpu(place, **card) for place, card in enumerate(cards or ({},)))
    facts = change(msgspec.structs.replace(nvidia_host(), gpus=found), "nvidia.kernel.loaded", driver)
    return installed(facts=facts, **changes)


NEEDS = "Ollama 0.31.1 uses {} with a driver of branch {} or newer; this one is {}."
TI = "GPU 0 (NVIDIA GeForce GTX 1080 Ti)"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (driven("550.163.01", PASCAL), [("problem", NEEDS.format(TI, 570, "550.163.01"))]),
        (driven("535.247.01", PASCAL), [("problem", NEEDS.format(TI, 570, "535.247.01"))]),
        (driven("570.169", PASCAL), PASS),
        (driven("550.163.01"), PASS),  # a GPU of 7.0 and newer
        (driven("535.247.01", PASCAL, cudart="12.3"), PASS),
        (driven("535.247.01", PASCAL, cudart=None), PASS),  # a distribution's build
        (driven("535.247.01", PASCAL, release="0.24.0"), PASS),
        (driven("535.247.01", PASCAL, release=WHY), [("unknown", "closed")]),
        (driven("535.247.01", PASCAL, backends=("cpu",)), PASS),  # another check's matter
        (driven("550.163.01", PASCAL | {"capability": WHY}), [("unknown", "closed")]),
    ],
)
def test_driver_too_old(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(driver_too_old, facts) == verdict


def test_what_is_left_without_cuda() -> None:
    assert severity(driver_too_old, driven("550.163.01", PASCAL)) == "warn"
    assert severity(driver_too_old, driven("550.163.01", PASCAL, backends=("cpu", "cuda"))) == "fail"
    assert severity(driver_too_old, driven("550.163.01", PASCAL, {}, backends=("cpu", "cuda"))) == "warn"


def test_who_installs_the_driver() -> None:
    facts = driven("550.163.01", PASCAL)
    assert "Install a driver of branch 580, then reboot." in commands(driver_too_old, facts)
    inside = change(facts, "host", host(container="docker"))
    assert "Ask the host's administrator to install a driver of branch 570 or newer" in commands(driver_too_old, inside)
    windows = change(facts, "host", host(platform="wsl", wsl=2))
    assert "on Windows, not inside WSL" in commands(driver_too_old, windows)
    kepler = driven("470.256.02", PASCAL | {"generation": "Kepler", "capability": "3.5"})
    assert commands(driver_too_old, kepler).splitlines() == [
        "Install a release of Ollama before 0.30.0: it uses the GPU with this driver."
    ]


SKIPS = (
    "OLLAMA_LLM_LIBRARY is cuda ({}), but /usr/local/lib/ollama has cuda_v12 and cuda_v13 and vulkan: Ollama skips "
    "them all and computes on the CPU."
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (installed(setting(LIBRARY, "cuda")), [("problem", SKIPS.format(UNIT))]),
        (installed(setting(LIBRARY, "cuda", "")), [("problem", SKIPS.replace(" ({})", ""))]),
        (installed(setting(LIBRARY, "cuda_v13")), PASS),
        (installed(setting(LIBRARY, "mlx_cuda_v13")), PASS),
        (installed(setting(LIBRARY, "cpu_avx2")), PASS),  # meant to be so
        (installed(setting(LIBRARY, "cuda"), folders=()), PASS),
        (installed(setting(LIBRARY, "cuda"), release="0.11.0"), PASS),
        (installed(), PASS),
        (installed(settings=WHY), [("unknown", "closed")]),
    ],
)
def test_library_not_there(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(library_not_there, facts) == verdict


def test_how_a_variable_goes() -> None:
    said = commands(library_not_there, installed(setting(LIBRARY, "cuda")))
    assert "UnsetEnvironment=OLLAMA_LLM_LIBRARY" in said
    assert "/etc/systemd/system/ollama.service.d/ollama-llm-library.conf" in said
    assert "sudo systemctl daemon-reload" in said
    shell = installed(setting(LIBRARY, "cuda", ""))
    assert "unset OLLAMA_LLM_LIBRARY" in commands(library_not_there, shell)
    inside = change(shell, "host", host(container="docker"))
    assert "recreate the container without OLLAMA_LLM_LIBRARY" in commands(library_not_there, inside)
    nixos = change(installed(setting(LIBRARY, "cuda")), "host.distribution", Distribution(id="nixos", version="25.11"))
    assert "# without services.ollama.environmentVariables.OLLAMA_LLM_LIBRARY" in commands(library_not_there, nixos)


def two(*given: OllamaSetting, **changes: Any) -> Facts:
    cards = (gpu(0, uuid="GPU-11111111-2222"), gpu(1, uuid="GPU-33333333-4444"))
    return installed(*given, facts=msgspec.structs.replace(nvidia_host(), gpus=cards), **changes)


STARTS = UNIT + " starts Ollama with CUDA_VISIBLE_DEVICES={}: {} is no GPU of this machine, so Ollama sees {}."


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("2", [("problem", STARTS.format("2", "2", "no GPU"))]),
        ("GPU-55555555", [("problem", STARTS.format("GPU-55555555", "GPU-55555555", "no GPU"))]),
        ("1,GPU-55555555", [("problem", STARTS.format("1,GPU-55555555", "GPU-55555555", "1 of 2 GPUs"))]),
        ("GPU-11111111", PASS),
        ("0,1", PASS),
        ("-1", PASS),  # the documented way to leave the GPUs alone
        ("MIG-1234", PASS),
    ],
)
def test_service_hides_gpus(value: str, verdict: list[tuple[str, str]]) -> None:
    assert ask(service_hides_gpus, two(setting(MASK, value))) == verdict
    assert ask(service_hides_gpus, two(setting(MASK, value, ""))) == PASS  # another check's matter


ALL_THE_SAME = (
    f"CUDA_VISIBLE_DEVICES={{}} ({UNIT}) hides {{}} of 2 GPUs from Ollama 0.31.1, which uses them through Vulkan all "
    "the same."
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (two(setting(MASK, "0")), [("problem", ALL_THE_SAME.format("0", 1))]),
        (two(setting(MASK, "-1")), [("problem", ALL_THE_SAME.format("-1", 2))]),
        (two(setting(MASK, "0,1")), PASS),
        (two(setting(MASK, "0", "")), PASS),
        (two(setting(MASK, "0"), vulkan_driver=False), PASS),
        (two(setting(MASK, "0"), backends=("cpu", "cuda")), PASS),
        (two(setting(MASK, "0"), release="0.24.0"), PASS),
        (two(setting(MASK, "0"), setting("OLLAMA_VULKAN", "False")), PASS),
        (two(setting(MASK, "0"), setting("OLLAMA_VULKAN", "1")), [("problem", ALL_THE_SAME.format("0", 1))]),
        (two(setting(MASK, "0"), setting("GGML_VK_VISIBLE_DEVICES", "0")), PASS),
        (two(), PASS),
    ],
)
def test_vulkan_unmasked(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(vulkan_unmasked, facts) == verdict


def test_vulkan_is_turned_off() -> None:
    said = commands(vulkan_unmasked, two(setting(MASK, "0")))
    assert 'Environment="OLLAMA_VULKAN=0"' in said
    assert "sudo systemctl restart ollama" in said
