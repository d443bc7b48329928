"""What building CUDA code and compiling kernels at run time need."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.cuda.compiler_missing import compiler_missing
from gpudoctor.checks.cuda.compiler_too_new import compiler_too_new
from gpudoctor.checks.cuda.home_stale import home_stale
from gpudoctor.checks.cuda.nvcc_mismatch import nvcc_mismatch
from gpudoctor.checks.cuda.nvcc_without_gpu import nvcc_without_gpu
from gpudoctor.checks.cuda.ptx_too_new import ptx_too_new
from gpudoctor.checks.cuda.python_headers_missing import python_headers_missing
from gpudoctor.checks.libraries.pin_broken import pin_broken
from gpudoctor.facts import (
    CondaPackage,
    CudaHome,
    Distribution,
    Facts,
    Nvcc,
    Package,
    PackageSource,
    Toolkits,
    UnmetRequirement,
)
from gpudoctor.fixes.toolkit import new_toolkit
from gpudoctor.maybe import Unknown, known_or, text_of
from tests.builders import change, host, nvidia_host
from tests.checks.environments import (
    BLACKWELL,
    NO_TOOLKIT,
    PASCAL,
    change_toolkits,
    commands,
    environment,
    machine,
    one,
    package,
    severity,
    torch,
)
from tests.checks.nvidia_machines import having

TRITON = package("triton", "3.3.1")


def toolkit(version: Any = "12.4", why: str = "CUDA_HOME", gcc: str = "gcc 11.4.0") -> Toolkits:
    """A toolkit that build tools take."""
    path = f"/usr/local/cuda-{text_of(version)}"
    nvcc = f"{path}/bin/nvcc"
    return Toolkits(
        nvccs=(Nvcc(path=nvcc, real=nvcc, version=version),),
        home=CudaHome(path=path, found_by=why, exists=True, nvcc=version, headers=True, lacks=()),
        installed=((path, text_of(version)),),
        libraries=(),
        cxx="/usr/bin/gcc",
        cxx_version=gcc,
    )


def with_toolkit(found: Toolkits) -> Facts:
    return environment(torch(cuda="12.1"), facts=machine(toolkits=found))


def test_nvcc_mismatch() -> None:
    facts = with_toolkit(toolkit("11.8"))
    expected = (
        "nvcc is 11.8 (/usr/local/cuda-11.8, from CUDA_HOME), but PyTorch 2.7.1 is built for CUDA 12.1: extensions do "
        "not build."
    )
    assert one(nvcc_mismatch, facts) == ("problem", expected)
    said = commands(nvcc_mismatch, facts)
    assert "sudo apt-get install cuda-toolkit-12-1" in said
    assert "https://download.pytorch.org/whl/cu118" in said
    assert severity(nvcc_mismatch, with_toolkit(toolkit("11.8", "/usr/local/cuda"))) == "advice"
    assert one(nvcc_mismatch, with_toolkit(toolkit("12.4"))) == ("pass", "")
    assert one(nvcc_mismatch, with_toolkit(NO_TOOLKIT)) == ("pass", "")
    assert one(nvcc_mismatch, with_toolkit(toolkit(Unknown("hung")))) == ("unknown", "hung")


def stale(**home: Any) -> Facts:
    """CUDA_HOME beside a toolkit 12.4 elsewhere."""
    named = CudaHome(path="/usr/local/cuda-11.7", found_by="CUDA_HOME", **home)
    return machine(toolkits=msgspec.structs.replace(toolkit("12.4"), home=named))


def test_home_stale() -> None:
    facts = stale(exists=True, nvcc=None)
    expected = (
        "CUDA_HOME is /usr/local/cuda-11.7, which has no nvcc (no such file bin/nvcc); the toolkit 12.4 is in "
        "/usr/local/cuda-12.4."
    )
    assert one(home_stale, facts) == ("problem", expected)
    assert "export CUDA_HOME=/usr/local/cuda-12.4" in commands(home_stale, facts)
    assert "does not exist" in one(home_stale, stale(exists=False, nvcc=None))[1]
    listed = msgspec.structs.replace(stale(exists=False).toolkits.home, path=":/usr/local/cuda-12.4", nvcc=None)
    facts = machine(toolkits=msgspec.structs.replace(toolkit("12.4"), home=listed))
    assert "is a list of paths, but has to be one directory; the toolkit 12.4" in one(home_stale, facts)[1]
    assert one(home_stale, machine(toolkits=toolkit("12.4"))) == ("pass", "")
    assert one(home_stale, stale(exists=Unknown("closed"), nvcc=None)) == ("unknown", "closed")


def test_compiler_missing() -> None:
    without = msgspec.structs.replace(NO_TOOLKIT, cxx=None)
    facts = environment(torch(), packages=(TRITON,), facts=machine(toolkits=without))
    expected = "No C compiler (cc, gcc, clang) is on PATH, so Triton, and with it torch.compile, cannot build kernels."
    assert one(compiler_missing, facts) == ("problem", expected)
    assert "sudo apt-get install build-essential" in commands(compiler_missing, facts)
    assert one(compiler_missing, environment(torch(), facts=machine(toolkits=without))) == ("pass", "")
    assert one(compiler_missing, environment(torch(), packages=(TRITON,))) == ("pass", "")
    blind = msgspec.structs.replace(NO_TOOLKIT, cxx=Unknown("no PATH"))
    unknown = environment(torch(), packages=(TRITON,), facts=machine(toolkits=blind))
    assert one(compiler_missing, unknown) == ("unknown", "no PATH")
    for headers, prefix, more in ((False, "/usr", True), (True, "/usr", False), (False, "/opt/py", False)):
        facts = environment(torch(), packages=(TRITON,), facts=facts, headers=headers, base_prefix=prefix)
        assert ("python3.11-dev" in commands(compiler_missing, facts)) is more


def test_root_in_a_container_needs_no_sudo() -> None:
    without = msgspec.structs.replace(NO_TOOLKIT, cxx=None)
    facts = environment(torch(), packages=(TRITON,), facts=machine(toolkits=without))
    facts = change(facts, "host", host(container="docker"))
    facts = change(facts, "host.user.uid", 0)
    # Images come without lists of packages.
    assert "\napt-get update\napt-get install build-essential" in commands(compiler_missing, facts)


def test_python_headers_missing() -> None:
    facts = environment(torch(), packages=(TRITON,), headers=False)
    expected = "/opt/env/bin/python has no Python.h, which Triton's launcher includes: torch.compile fails."
    assert one(python_headers_missing, facts) == ("problem", expected)
    assert "python3.11-dev" in commands(python_headers_missing, facts)
    assert one(python_headers_missing, environment(torch(), packages=(TRITON,))) == ("pass", "")
    unknown = environment(torch(), packages=(TRITON,), headers=Unknown("no folder"))
    assert one(python_headers_missing, unknown) == ("unknown", "no folder")


def test_ptx_too_new() -> None:
    wheels = (package("numba", "0.60.0"), package("nvidia-cuda-nvcc-cu12", "12.4.131"))
    facts = environment(torch(), packages=wheels, facts=machine("12.2"))
    expected = (
        "numba 0.60.0 compiles with NVVM of CUDA 12.4.131 (nvidia-cuda-nvcc-cu12); the driver 570.169 (CUDA 12.2) "
        "supports PTX up to CUDA 12.2."
    )
    assert one(ptx_too_new, facts) == ("problem", expected)
    said = commands(ptx_too_new, facts)
    assert "nvidia-cuda-nvcc-cu12==12.2.*" in said
    assert "pynvjitlink-cu12" in said
    assert one(ptx_too_new, environment(torch(), packages=wheels, facts=machine("12.4"))) == ("pass", "")
    assert one(ptx_too_new, environment(torch(), packages=wheels[:1], facts=machine("12.2"))) == ("pass", "")
    silent = change(machine(), "nvidia.cuda.version", Unknown("hung"))
    silent = change(silent, "nvidia.nvml.cuda_version", Unknown("hung"))
    assert one(ptx_too_new, environment(torch(), packages=wheels, facts=silent)) == ("unknown", "hung")


def test_ptx_of_conda() -> None:
    tools = (CondaPackage(name="cuda-nvvm-impl", version="12.6.85", build="he02047a_0"),)
    changes: dict[str, Any] = {
        "conda": tools,
        "kind": "conda",
        "manager": "conda",
        "packages": (package("numba", "0.60.0"),),
    }
    facts = environment(facts=machine("12.0"), **changes)
    expected = (
        "numba 0.60.0 compiles with NVVM of CUDA 12.6.85 (conda's cuda-nvvm-impl); the driver 570.169 (CUDA 12.0) "
        "supports PTX up to CUDA 12.0."
    )
    assert one(ptx_too_new, facts) == ("problem", expected)
    assert "conda install -p /opt/env -c conda-forge cuda-version=12.0" in commands(ptx_too_new, facts)
    assert one(ptx_too_new, environment(facts=machine("12.6"), **changes)) == ("pass", "")


def openmm(nvrtc: str, driver: str, *others: Package, **changes: Any) -> Facts:
    """OpenMM's plugin for CUDA 12, NVRTC, and PyTorch, which pins a release of that."""
    pin = package("torch", "2.8.0", requires=("nvidia-cuda-nvrtc-cu12==12.6.77",))
    here = (package("openmm", "8.3.1"), package("openmm-cuda-12", "8.3.1"), package("nvidia-cuda-nvrtc-cu12", nvrtc))
    return environment(packages=(*here, pin, *others), facts=machine(driver), **changes)


def test_ptx_of_nvrtc() -> None:
    facts = openmm("12.6.77", "12.4")
    expected = (
        "OpenMM (openmm-cuda-12 8.3.1) compiles with NVRTC of CUDA 12.6.77 (nvidia-cuda-nvrtc-cu12); the driver "
        "570.169 (CUDA 12.4) supports PTX up to CUDA 12.4."
    )
    assert one(ptx_too_new, facts) == ("problem", expected)
    assert severity(ptx_too_new, facts) == "warn"
    said = commands(ptx_too_new, facts)
    assert "install 'nvidia-cuda-nvrtc-cu12==12.4.*'" in said
    assert "pip reports a conflict with torch, which pins 12.6.77" in said
    assert one(ptx_too_new, openmm("12.4.127", "12.4")) == ("pass", "")
    of_13 = openmm("12.4.127", "12.4", package("nvidia-cuda-nvrtc", "13.0.88"))
    assert one(ptx_too_new, of_13) == ("pass", "")  # the plugin for CUDA 12 loads NVRTC 12


def test_the_older_nvrtc_is_not_taken_back() -> None:
    pin = UnmetRequirement(
        package="torch", version="2.8.0", requires="nvidia-cuda-nvrtc-cu12==12.6.77", found="12.4.127"
    )
    assert one(pin_broken, openmm("12.4.127", "12.4", unmet=(pin,))) == ("pass", "")
    assert one(pin_broken, openmm("12.4.127", "12.8", unmet=(pin,)))[0] == "problem"  # nothing needs it there


def test_condas_openmm_contains_its_plugin() -> None:
    tools = (CondaPackage(name="cuda-nvrtc", version="12.9.86", build="h"),)
    there: dict[str, Any] = {
        "packages": (package("openmm", "8.3.1", installer="conda"),),
        "manager": "conda",
        "kind": "conda",
    }
    facts = environment(facts=machine("12.4"), conda=tools, **there)
    assert one(ptx_too_new, facts)[0] == "problem"
    assert "conda install -p /opt/env -c conda-forge cuda-version=12.4" in commands(ptx_too_new, facts)


BLACKWELL_HERE = "(NVIDIA GeForce RTX 5090, Blackwell, compute capability 12.0, sm_120)"
PASCAL_HERE = "(NVIDIA GeForce GTX 1080 Ti, Pascal, compute capability 6.1, sm_61)"


@pytest.mark.parametrize(
    ("card", "version", "why", "message"),
    [
        (BLACKWELL, "12.8", "CUDA_HOME", None),
        (BLACKWELL, "12.0", "/usr/local/cuda", None),
        (
            BLACKWELL,
            "12.0",
            "nvcc on PATH",
            "nvcc 12.0 (/usr/local/cuda-12.0, from nvcc on PATH) does not compile for sm_120 of GPU 0 "
            f"{BLACKWELL_HERE}: CUDA 12.8 is the first release that does.",
        ),
        (PASCAL, "12.9", "CUDA_HOME", None),
        (
            PASCAL,
            "13.0",
            "CUDA_HOME",
            f"nvcc 13.0 (/usr/local/cuda-13.0, from CUDA_HOME) does not compile for sm_61 of GPU 0 {PASCAL_HERE}: CUDA "
            "12.9 is the last that does.",
        ),
    ],
)
def test_nvcc_without_gpu(card: dict[str, Any], version: str, why: str, message: str | None) -> None:
    facts = machine("12.8", toolkits=toolkit(version, why), card=card)
    assert one(nvcc_without_gpu, facts) == (("problem", message) if message else ("pass", ""))


def test_which_nvcc_compiles_for_the_gpu() -> None:
    old = toolkit("12.0", "nvcc on PATH")
    facts = machine("12.8", toolkits=old, card=BLACKWELL)
    assert "apt-get install cuda-toolkit-12-8" in commands(nvcc_without_gpu, facts)
    facts = machine("13.0", toolkits=toolkit("13.0"), card=PASCAL)
    assert "apt-get install cuda-toolkit-12-9" in commands(nvcc_without_gpu, facts)
    with_torch = environment(torch(cuda="12.6"), facts=facts)
    assert "apt-get install cuda-toolkit-12-6" in commands(nvcc_without_gpu, with_torch)
    new = toolkit("12.9")
    nvccs = (*known_or(old.nvccs, ()), *known_or(new.nvccs, ()))
    installed = (*known_or(old.installed, ()), *known_or(new.installed, ()))
    both = change_toolkits(nvccs=nvccs, home=old.home, installed=installed)
    facts = machine("12.8", toolkits=both, card=BLACKWELL)
    assert "export CUDA_HOME=/usr/local/cuda-12.9" in commands(nvcc_without_gpu, facts)
    assert "apt-get" not in commands(nvcc_without_gpu, facts)
    assert severity(nvcc_without_gpu, facts) == "warn"
    two = change(facts, "gpus", (known_or(facts.gpus, ())[0], known_or(nvidia_host(2).gpus, ())[1]))
    assert severity(nvcc_without_gpu, two) == "advice"
    unknown = machine(toolkits=toolkit(Unknown("hung")), card=BLACKWELL)
    assert one(nvcc_without_gpu, unknown) == ("unknown", "hung")


def test_ptx_of_a_newer_major() -> None:
    wheels = (package("numba-cuda", "0.20.0"), package("nvidia-cuda-nvcc", "13.0.88"))
    facts = environment(packages=wheels, facts=machine("12.8"))
    expected = (
        "numba-cuda 0.20.0 compiles with NVVM of CUDA 13.0.88 (nvidia-cuda-nvcc); the driver 570.169 (CUDA 12.8) "
        "supports PTX up to CUDA 12.8."
    )
    assert one(ptx_too_new, facts) == ("problem", expected)
    assert "'numba-cuda[cu12]'" in commands(ptx_too_new, facts)
    assert one(ptx_too_new, environment(packages=wheels, facts=machine("13.0"))) == ("pass", "")


@pytest.mark.parametrize(
    ("numba", "linker", "outcome"),
    [
        ("0.20.0", "12.9.86", "pass"),
        ("0.15.0", "12.9.86", "problem"),  # the driver links there
        ("0.20.0", None, "problem"),
        ("0.20.0", "13.0.88", "problem"),  # its machine code needs a driver of CUDA 13
    ],
)
def test_numba_cuda_that_links_with_nvjitlink_gives_the_driver_no_ptx(
    numba: str, linker: str | None, outcome: str
) -> None:
    own = [package("numba-cuda", numba), package("cuda-core", "0.3.2"), package("cuda-bindings", "12.9.2")]
    own += [package("nvidia-cuda-nvcc-cu12", "12.9.86")]
    own += [package("nvidia-nvjitlink-cu12", linker)] if linker else []
    facts = environment(packages=tuple(own), facts=machine("12.4"))
    assert one(ptx_too_new, facts)[0] == outcome
    off = change(facts, "host.environment", {"NUMBA_CUDA_USE_NVIDIA_BINDING": "0"})
    assert one(ptx_too_new, off)[0] == "problem"


def test_compiler_too_new() -> None:
    facts = machine(toolkits=toolkit("12.4", gcc="gcc 15.1.1"))
    expected = "nvcc 12.4 (/usr/local/cuda-12.4) accepts gcc up to 13; the gcc on PATH is gcc 15.1.1."
    assert one(compiler_too_new, facts) == ("problem", expected)
    assert "export NVCC_CCBIN=/usr/bin/g++-13" in commands(compiler_too_new, facts)
    chosen = change(facts, "host.environment", {"NVCC_CCBIN": "/usr/bin/g++-13"})
    assert one(compiler_too_new, chosen) == ("pass", "")
    assert one(compiler_too_new, machine(toolkits=toolkit("12.4"))) == ("pass", "")
    assert one(compiler_too_new, machine(toolkits=toolkit(Unknown("hung")))) == ("unknown", "hung")
    own = change(facts, "toolkits.home.own_compiler", "gcc 13.3.0")  # which nvcc takes, whatever is on PATH
    assert one(compiler_too_new, own) == ("pass", "")
    own = change(facts, "toolkits.home.own_compiler", "gcc 14.2.0")
    assert one(compiler_too_new, own)[1] == expected.replace("on PATH is gcc 15.1.1", "next to it is gcc 14.2.0")


def test_arch_has_one_release_of_the_toolkit() -> None:
    arch = change(machine(), "host.distribution", Distribution(id="arch"))
    assert "sudo pacman -S cuda" in new_toolkit(arch, None, "13.0").commands
    newer = new_toolkit(change(arch, "toolkits.installed", (("/opt/cuda", "13.0"),)), None, "12.9")
    assert "Arch's package cuda has one release alone, here 13.0" in newer.message
    assert not any("pacman" in line for line in newer.commands)


def test_debian_gets_nvidias_repository_for_the_toolkit() -> None:
    distribution = Distribution(id="debian", like=(), version="12", codename="bookworm")
    own = PackageSource(path="/etc/apt/sources.list.d/debian.sources", kind="distribution")
    bookworm = having(host__distribution=distribution, host__sources=(own,))
    added = new_toolkit(bookworm, None, "12.6").commands
    assert any("cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb" in command for command in added)
    assert added[-4:-2] == ("sudo apt-get update", "sudo apt-get install cuda-toolkit-12-6")
    there = having(bookworm, host__sources=(own, PackageSource(path="x", kind="nvidia")))
    assert new_toolkit(there, None, "12.6").commands[0] == "sudo apt-get install cuda-toolkit-12-6"
    unread = having(bookworm, host__sources=Unknown("no such directory"))
    assert new_toolkit(unread, None, "12.6").commands[0] == "sudo apt-get install cuda-toolkit-12-6"
