"""Ollama: its libraries for GPUs, and what they need of the CPU."""

from typing import Any

import msgspec
import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.ollama.backend_missing import backend_missing
from gpudoctor.checks.ollama.cpu_without_avx import cpu_without_avx
from gpudoctor.checks.ollama.gfx_without_kernels import gfx_without_kernels
from gpudoctor.checks.ollama.service_without_group import service_without_group
from gpudoctor.checks.ollama.vulkan_missing import vulkan_missing
from gpudoctor.facts import Facts, Gpu, Ollama, PciDevice, User
from gpudoctor.facts.host import Distribution
from gpudoctor.facts.ollama import NO_SERVICE, OllamaService, OllamaSetting
from gpudoctor.maybe import Unknown
from tests.builders import ask, card, change, nvidia_host, plain_host
from tests.checks.amd_machines import RADEON, RENDER, VIDEO, amd_host, kfd
from tests.checks.intel_machines import ARC, UHD, arc_host

WHY = Unknown("not to be seen")
LIB = "/usr/local/lib/ollama"
NEEDS = f"Ollama in {LIB} has no library for ROCm (libggml-hip.so is missing), which it needs for the AMD GPU; it has"
CUDAS = (
    f"Ollama in {LIB} has no library for CUDA (libggml-cuda.so is missing), which it needs for the NVIDIA GPU; it has"
)
EMPTY = (
    "(/usr/local/bin/ollama) is installed without its libraries: there is no lib/ollama next to the directory of the "
    "program. So it computes on the CPU and not on the NVIDIA GPU."
)
PASS, SKIPPED = ("pass", ""), ("skipped", "")
NVIDIAS = (("nvidia-utils-580", "580.95.05", "ii"),)


def ollama(facts: Facts, *backends: str, **changes: Any) -> Facts:
    plain = {"program": "/usr/local/bin/ollama", "directory": LIB, "backends": ("base", "cpu", *backends)}
    return change(facts, "ollama", Ollama(**(plain | {"release": None} | changes)))


HALF = (
    f"Ollama in {LIB} is incomplete: it has libggml-cuda.so, but neither libggml-base.so, which that needs, nor a "
    "library for the CPU (libggml-cpu-*.so). So no library loads, and it computes on the CPU."
)


def halo(gfx: str = "gfx1151") -> Facts:
    gpu = msgspec.structs.replace(RADEON, name="Radeon 8060S", gfx=gfx, integrated=True)
    return change(amd_host((gpu,)), "host.platform", "bare")


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (ollama(halo(), "cuda"), ("problem", f"{NEEDS} those for CUDA."), Severity.ERROR),
        (ollama(halo()), ("problem", f"{NEEDS} the CPU's alone."), Severity.WARNING),
        (
            ollama(halo(), "cuda", copies=("/usr/lib/ollama/rocm",)),
            ("problem", f"{NEEDS} those for CUDA. One is in /usr/lib/ollama/rocm, where it does not look."),
            Severity.ERROR,
        ),
        (ollama(nvidia_host()), ("problem", f"{CUDAS} the CPU's alone."), Severity.WARNING),
        (ollama(nvidia_host(), "hip"), ("problem", f"{CUDAS} those for ROCm."), Severity.ERROR),
        (ollama(halo(), "cuda", "hip"), PASS, None),
        (ollama(halo(), "cuda", "vulkan"), PASS, None),
        (ollama(nvidia_host(), "cuda"), PASS, None),
        (ollama(nvidia_host(), backends=("cuda",)), ("problem", HALF), Severity.WARNING),
        (ollama(nvidia_host(), backends=("base", "cuda")), PASS, None),
        (ollama(nvidia_host(), backends=(), release="0.5.1"), PASS, None),  # whose libraries are within the program
        (ollama(nvidia_host(), backends=(), release="0.6.1"), ("problem", f"Ollama 0.6.1 {EMPTY}"), Severity.ERROR),
        (ollama(nvidia_host(), backends=(), release=WHY), ("unknown", "not to be seen"), None),
        (ollama(halo(), "cuda", backends=WHY), ("unknown", "not to be seen"), None),
        (ollama(halo("gfx1036"), "cuda"), SKIPPED, None),  # Ollama has no build for it
        (ollama(plain_host(), "cuda"), SKIPPED, None),
        (ollama(change(nvidia_host(), "nvidia.cuda.code", 100)), SKIPPED, None),  # the driver does not work
        (ollama(halo(), program=None), SKIPPED, None),
        (ollama(halo(), program=WHY), SKIPPED, None),
    ],
)
def test_backend_missing(facts: Facts, verdict: tuple[str, str], severity: Severity | None) -> None:
    assert ask(backend_missing, facts) == [verdict]
    if severity:
        assert [v.severity for v in run(backend_missing, facts)] == [severity]


def commands(facts: Facts) -> list[tuple[str, ...]]:
    return [fix.commands for fix in run(backend_missing, facts)[0].fixes]


def test_an_installer_that_met_nvidia_smi() -> None:
    facts = change(change(halo(), "nvidia.kernel.packages", NVIDIAS), "nvidia.kernel.image_keys", None)
    again, copy = commands(ollama(facts, "cuda", copies=("/usr/lib/ollama/rocm",)))
    assert again[0].endswith("apt-get purge nvidia-utils-580")
    assert again[1] == "curl -fsSL https://ollama.com/install.sh | sh"
    assert copy[0] == f"sudo cp -r /usr/lib/ollama/rocm {LIB}/"
    laptop = commands(ollama(change(facts, "host.platform", "laptop"), "cuda"))
    assert laptop == [("curl -fsSL https://ollama.com/install.sh | sh",)]


def test_distributions_with_a_package_for_each() -> None:
    arch = change(halo(), "host.distribution", Distribution(id="arch"))
    assert "ollama-rocm" in commands(ollama(arch, program="/usr/bin/ollama"))[0][0]
    for facts, release, setting in (
        (nvidia_host(), "26.05", "services.ollama.package = pkgs.ollama-cuda;"),
        (nvidia_host(), "25.11", 'services.ollama.acceleration = "cuda";'),
        (halo(), "25.11", 'services.ollama.acceleration = "rocm";'),
        (halo(), None, "services.ollama.package = pkgs.ollama-rocm;"),
    ):
        nixos = change(facts, "host.distribution", Distribution(id="nixos", version=release))
        (fix,) = commands(ollama(nixos, program="/run/current-system/sw/bin/ollama"))
        assert fix[0].endswith(f"/configuration.nix\n{setting}")
        assert fix[1:] == ("sudo nixos-rebuild switch",)


@pytest.mark.parametrize(
    ("facts", "engine", "command"),
    [
        (halo(), "docker", "docker pull ollama/ollama:rocm"),
        (nvidia_host(), "podman", "podman pull docker.io/ollama/ollama"),
    ],
)
def test_in_a_container_the_image_brings_the_library(facts: Facts, engine: str, command: str) -> None:
    inside = ollama(change(facts, "host.container", engine))
    (fix,) = run(backend_missing, inside)[0].fixes
    assert (fix.commands, fix.place) == ((command,), "outside")
    (newer,) = run(cpu_without_avx, cpu(OLD, "0.5.7", None, inside))[0].fixes
    assert (newer.commands, newer.place) == ((command,), "outside")


def test_a_pod_and_a_container_with_a_whole_system() -> None:
    (pod,) = run(backend_missing, ollama(change(nvidia_host(), "host.container", "containerd")))[0].fixes
    assert (pod.commands, pod.place) == ((), "outside")
    assert commands(ollama(change(nvidia_host(), "host.container", "lxc")))[0][0].endswith("install.sh | sh")


OLD = ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3")
SAYS = "uses GPUs only where the CPU has AVX, and"


def cpu(flags: Any, release: Any, virtual: Any = "kvm", facts: Facts | None = None) -> Facts:
    host = change(change(facts or nvidia_host(), "host.cpu_flags", flags), "host.virtual", virtual)
    return ollama(host, "cuda", release=release)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (cpu(OLD, "0.5.7"), ("problem", f"Ollama 0.5.7 {SAYS} this virtual machine's CPU type has none.")),
        (cpu(OLD, "0.3.14", None), ("problem", f"Ollama 0.3.14 {SAYS} this CPU has none.")),
        (cpu(OLD, "0.5.8"), PASS),
        (cpu(OLD, "0.14.3"), PASS),
        (cpu((*OLD, "avx"), WHY), PASS),
        (cpu(None, WHY), PASS),  # aarch64
        (cpu(OLD, WHY), ("unknown", "not to be seen")),
        (cpu(WHY, "0.5.7"), ("unknown", "not to be seen")),
        (cpu(OLD, "0.5.7", facts=plain_host()), SKIPPED),
    ],
)
def test_cpu_without_avx(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(cpu_without_avx, facts) == [verdict]


def test_the_cpu_type_is_set_on_the_host_of_the_guest() -> None:
    guest = [fix.commands[0] for fix in run(cpu_without_avx, cpu(OLD, "0.5.7"))[0].fixes]
    assert guest == ["qm set VMID --cpu host", "curl -fsSL https://ollama.com/install.sh | sh"]
    bare = [fix.commands[0] for fix in run(cpu_without_avx, cpu(OLD, "0.5.7", None))[0].fixes]
    assert bare == ["curl -fsSL https://ollama.com/install.sh | sh"]


@pytest.mark.parametrize(
    ("distribution", "commands"),
    [
        ("arch", ("sudo pacman -Syu", "sudo systemctl restart ollama")),
        ("nixos", ("sudo nixos-rebuild switch --upgrade",)),
    ],
)
def test_a_packaged_ollama_is_upgraded_by_its_distribution(distribution: str, commands: tuple[str, ...]) -> None:
    facts = change(cpu(OLD, "0.5.7", None), "host.distribution", Distribution(id=distribution))
    (fix,) = run(cpu_without_avx, change(facts, "ollama.program", "/usr/bin/ollama"))[0].fixes
    assert fix.commands == commands


IDLE = f"Ollama in {LIB} has no libggml-vulkan.so: The Intel GPU at 0000:03:00.0 (DG2 [Arc A770]) stays idle."


def arc(*backends: str, pci: tuple[PciDevice, ...] = (UHD, ARC), **changes: Any) -> Facts:
    return ollama(change(arc_host(), "pci", pci), *backends, **changes)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (arc(), ("problem", IDLE)),
        (arc("cuda", "hip"), ("problem", IDLE)),
        (arc("vulkan"), PASS),
        (arc("sycl"), PASS),
        (arc(backends=()), PASS),
        (arc(backends=WHY), ("unknown", "not to be seen")),
        (arc(program=None), SKIPPED),
        (arc(pci=(UHD,)), SKIPPED),  # the processor may be faster
        (arc(pci=(ARC, card())), SKIPPED),
        (arc(pci=(msgspec.structs.replace(ARC, driver=None),)), SKIPPED),
    ],
)
def test_vulkan_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(vulkan_missing, facts) == [verdict]


def test_vulkan_comes_with_a_newer_release() -> None:
    (fix,) = run(vulkan_missing, arc(service=NO_SERVICE))[0].fixes
    assert fix.commands == ("curl -fsSL https://ollama.com/install.sh | sh", "OLLAMA_VULKAN=1 ollama serve")


SERVICE = OllamaService(user="ollama", groups=(110, 997))
NAVI22 = msgspec.structs.replace(RADEON, name="Radeon RX 6700 XT", gfx="gfx1031")
BLAS = ("gfx1030", "gfx1100")


def navi(gpu: Gpu = NAVI22, system: str = "ubuntu", **changes: Any) -> Facts:
    facts = change(amd_host((gpu,)), "host.distribution", Distribution(id=system))
    plain = {"gfx": BLAS, "service": SERVICE}
    return ollama(facts, "hip", **(plain | changes))


OVERRIDDEN = (OllamaSetting(name="HSA_OVERRIDE_GFX_VERSION", value="10.3.0"),)


NEEDED = (
    "Ollama's library for ROCm has no kernels for {1}, which GPU 0 ({0}) is: it has those for gfx1030 gfx1100. So it "
    "computes on the CPU."
)
SHELL = " HSA_OVERRIDE_GFX_VERSION=10.3.0 is set here, but not for ollama.service."
XT = NEEDED.format("Radeon RX 6700 XT", "gfx1031")
VEGA = msgspec.structs.replace(RADEON, name="Radeon RX Vega 56", gfx="gfx900")
IN_SHELL = {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}


@pytest.mark.parametrize(
    ("facts", "verdict", "severity"),
    [
        (navi(), ("problem", XT), Severity.WARNING),
        (change(navi(), "host.environment", IN_SHELL), ("problem", XT + SHELL), Severity.WARNING),
        (navi(service=NO_SERVICE), ("problem", XT), Severity.WARNING),
        (navi(settings=OVERRIDDEN), PASS, None),
        (navi(settings=WHY), ("unknown", "not to be seen"), None),
        (navi(gfx=WHY), ("unknown", "not to be seen"), None),
        (navi(gfx=(*BLAS, "gfx1031")), PASS, None),  # Fedora's, and those that somebody compiled
        (navi(RADEON), PASS, None),
        (navi(backends=("cpu", "hip", "vulkan")), PASS, None),
        (navi(backends=("cpu", "cuda")), SKIPPED, None),
        (navi(VEGA), ("problem", NEEDED.format("Radeon RX Vega 56", "gfx900")), Severity.WARNING),
        (navi(VEGA, gfx=()), PASS, None),  # which release of Ollama it is, is not known
        (
            navi(gfx=(), program="/usr/bin/ollama", system="fedora"),
            PASS,
            None,
        ),  # the system's rocBLAS, for more targets
        (
            change(navi(msgspec.structs.replace(NAVI22, gfx="gfx1035", integrated=True)), "host.platform", "bare"),
            ("problem", NEEDED.format("Radeon RX 6700 XT", "gfx1035")),
            Severity.ADVICE,
        ),
    ],
)
def test_gfx_without_kernels(facts: Facts, verdict: tuple[str, str], severity: Severity | None) -> None:
    assert ask(gfx_without_kernels, facts) == [verdict]
    if severity:
        assert [v.severity for v in run(gfx_without_kernels, facts)] == [severity]


def test_without_a_rocblas_of_its_own_ollamas_targets_count() -> None:
    ((kind, message),) = ask(gfx_without_kernels, navi(gfx=(), program="/usr/bin/ollama", system="arch"))
    assert (kind, "gfx1030" in message, "gfx1031" in message) == ("problem", True, True)


def test_a_package_uses_the_systems_rocblas() -> None:
    packaged = navi(gfx=(), program="/usr/bin/ollama", system="fedora")
    assert ask(gfx_without_kernels, change(packaged, "amd.blas", (*BLAS, "gfx1031"))) == [PASS]
    assert ask(gfx_without_kernels, change(packaged, "amd.blas", BLAS)) == [("problem", XT)]


def shown(facts: Facts) -> list[tuple[str, ...]]:
    return [fix.commands for fix in run(gfx_without_kernels, facts)[0].fixes]


def test_the_override_goes_where_ollama_reads_it() -> None:
    unit, vulkan = shown(navi())
    assert unit[0].startswith("sudo mkdir -p /etc/systemd/system/ollama.service.d && ")
    assert "ollama.service.d/hsa-override-gfx-version.conf" in unit[0]
    assert 'Environment="HSA_OVERRIDE_GFX_VERSION=10.3.0"' in unit[0]
    assert unit[1:] == ("sudo systemctl daemon-reload", "sudo systemctl restart ollama")
    assert "OLLAMA_VULKAN=1" in vulkan[1]
    assert shown(navi(service=NO_SERVICE))[0] == ("HSA_OVERRIDE_GFX_VERSION=10.3.0 ollama serve",)
    inside = shown(change(navi(service=NO_SERVICE), "host.container", "docker"))
    assert "docker run -e HSA_OVERRIDE_GFX_VERSION=10.3.0" in inside[0][0]
    assert inside[1] == ("docker pull ollama/ollama", "docker run -e OLLAMA_VULKAN=1 ...")
    nixos = shown(navi(system="nixos", program="/run/current-system/sw/bin/ollama"))
    assert nixos[0][0].endswith('services.ollama.rocmOverrideGfx = "10.3.0";')
    arch = shown(navi(system="arch", program="/usr/bin/ollama"))
    assert "ollama-vulkan" in arch[1][0]


def test_gpus_that_newer_releases_dropped() -> None:
    older, vulkan = shown(navi(VEGA))
    assert older == ("curl -fsSL https://ollama.com/install.sh | OLLAMA_VERSION=0.12.3 sh",)
    assert "OLLAMA_VULKAN=1" in vulkan[1]
    (alone,) = shown(navi(VEGA, program="/usr/bin/ollama"))
    assert "OLLAMA_VULKAN=1" in alone[1]


def test_the_engine_of_the_container_is_the_one_that_is_typed() -> None:
    podman = change(navi(VEGA, service=NO_SERVICE), "host.container", "podman")
    assert shown(podman) == [
        ("podman pull docker.io/ollama/ollama:0.12.3-rocm",),
        ("podman pull docker.io/ollama/ollama", "podman run -e OLLAMA_VULKAN=1 ..."),
    ]
    assert shown(change(podman, "host.kubernetes", True)) == [(), ()]


CLOSED = (
    "ollama.service runs as ollama, which is not in the group render: it cannot open /dev/kfd (mode 660), and Ollama "
    "computes on the CPU."
)


def served(service: Any, mode: str = "660", **changes: Any) -> Facts:
    facts = navi(RADEON, service=service)
    facts = change(facts, "host.user", User(uid=0, name="root", groups=(), known_groups=(RENDER, VIDEO)))
    return change(facts, "amd.kfd", (kfd(mode=mode, **changes),))


OUTSIDE = OllamaService(user="ollama", groups=(997,))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (served(OUTSIDE), ("problem", CLOSED)),
        (served(SERVICE), PASS),
        (served(OUTSIDE, "666"), PASS),  # systemd's own rule
        (served(NO_SERVICE), PASS),
        (served(msgspec.structs.replace(OUTSIDE, user="root")), PASS),
        (served(OUTSIDE, gid=0), PASS),  # no group opens it: rocm.only-root-opens
        (served(msgspec.structs.replace(OUTSIDE, groups=WHY)), ("unknown", "not to be seen")),
        (served(OllamaService(user=WHY)), ("unknown", "not to be seen")),
        (served(OUTSIDE, error="EACCES"), SKIPPED),  # the user cannot, either: rocm.kfd-no-permission
    ],
)
def test_service_without_group(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(service_without_group, facts) == [verdict]


def test_joining_the_group() -> None:
    (fix,) = run(service_without_group, served(OUTSIDE))[0].fixes
    assert fix.commands == ("sudo usermod -aG render,video ollama", "sudo systemctl restart ollama")
    nixos = change(served(OUTSIDE), "host.distribution", Distribution(id="nixos"))
    (fix,) = run(service_without_group, nixos)[0].fixes
    assert 'SupplementaryGroups = [ "render" ];' in fix.commands[0]
