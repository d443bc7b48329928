"""PyTorch: its build, its GPU code, its driver, and what it says itself."""

from typing import Any

import msgspec
import pytest

from gpudoctor.catalogue import load
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.pytorch.arch_missing import arch_missing
from gpudoctor.checks.pytorch.cpu_build import cpu_build
from gpudoctor.checks.pytorch.cudnn_mismatch import cudnn_mismatch
from gpudoctor.checks.pytorch.driver_too_old import driver_too_old
from gpudoctor.checks.pytorch.fewer_gpus import fewer_gpus
from gpudoctor.checks.pytorch.import_crashes import import_crashes
from gpudoctor.checks.pytorch.import_fails import import_fails
from gpudoctor.checks.pytorch.import_hangs import import_hangs
from gpudoctor.checks.pytorch.no_gpu import no_gpu
from gpudoctor.checks.pytorch.wrong_vendor import wrong_vendor
from gpudoctor.facts import CondaPackage, CudaDevice, Facts, Gpu
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import change, host, live, nvidia_host, plain_host, with_framework
from tests.checks.environments import (
    A100,
    BLACKWELL,
    PASCAL,
    blind,
    commands,
    environment,
    machine,
    one,
    package,
    severity,
    torch,
)

CU130 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
CPU: dict[str, Any] = {
    "variant": "cpu",
    "cuda": None,
    "archs": (),
    "live": live(0, error="Torch not compiled with CUDA enabled"),
}
RADEON = Gpu(vendor="amd", index=0, name="AMD Radeon RX 7900 XTX", gfx="gfx1100", capability=None, integrated=False)


def amd_machine(**changes: Any) -> Facts:
    """A machine with an RX 7900 XTX and no NVIDIA GPU."""
    return msgspec.structs.replace(plain_host(), gpus=(msgspec.structs.replace(RADEON, **changes),))


def test_cpu_build() -> None:
    facts = environment(torch("2.7.1+cpu", **CPU))
    expected = (
        "PyTorch 2.7.1+cpu is a CPU-only build, without CUDA support, and does not use GPU 0 (NVIDIA GeForce RTX 4090)."
    )
    assert one(cpu_build, facts) == ("problem", expected)
    assert "pip install --index-url https://download.pytorch.org/whl/cu126 torch==2.7.1+cu126" in commands(
        cpu_build, facts
    )
    assert one(cpu_build, environment(torch())) == ("pass", "")
    assert one(cpu_build, with_framework(torch(**CPU), plain_host())) == ("pass", "")
    unknown = environment(torch(variant=Unknown("closed")))
    assert one(cpu_build, unknown) == ("unknown", "closed")


def test_cpu_build_of_pixi() -> None:
    conda = (CondaPackage(name="pytorch", version="2.7.1", build="cpu_mkl_py312"),)
    facts = environment(torch("2.7.1", **CPU), conda=conda, manager="pixi", kind="conda")
    problem = run(cpu_build, facts)[0].problem
    assert problem is not None
    assert "unless its file declares CUDA as a system requirement" in str(problem.cause)
    assert '[system-requirements]\ncuda = "12"' in commands(cpu_build, facts)


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("UV_TORCH_BACKEND", "cpu", True),
        ("PIP_EXTRA_INDEX_URL", "https://download.pytorch.org/whl/cpu/", True),
        ("PIP_INDEX_URL", "https://pypi.org/simple", False),
        ("UV_TORCH_BACKEND", "auto", False),
    ],
)
def test_a_variable_that_chooses_cpu_builds(name: str, value: str, reported: bool) -> None:
    facts = change(environment(torch("2.7.1+cpu", **CPU)), "host.environment", {name: value})
    problem = run(cpu_build, facts)[0].problem
    assert problem is not None
    assert (f"{name}={value}" in problem.evidence) is reported
    assert (problem.cause == f"{name} makes the installer select PyTorch's CPU builds.") is reported
    assert (f"unset {name}\n" in commands(cpu_build, facts)) is reported


def test_cpu_build_on_a_gpu_that_no_wheel_serves_is_right() -> None:
    kepler = {"name": "NVIDIA GeForce GT 710", "generation": "Kepler", "capability": "3.5"}
    assert one(cpu_build, environment(torch(**CPU), facts=machine(card=kepler))) == ("pass", "")


def test_cpu_build_in_a_container_that_was_given_no_gpu_is_right() -> None:
    bus = msgspec.structs.replace(plain_host(), pci=nvidia_host().pci, host=host(container="docker"))
    assert one(cpu_build, with_framework(torch(**CPU), bus)) == ("pass", "")


def test_cpu_build_of_a_project_is_mended_in_its_files() -> None:
    facts = environment(torch("2.11.0+cpu", **CPU), manager="uv", project="/srv/app", facts=machine("13.0"))
    said = commands(cpu_build, facts)
    assert "In /srv/app/pyproject.toml, pin torch to the index of PyTorch's cu130 builds" in said
    lines = (
        "[[tool.uv.index]]",
        'name = "pytorch-cu130"',
        'url = "https://download.pytorch.org/whl/cu130"',
        "explicit = true",
        "[tool.uv.sources]",
        'torch = { index = "pytorch-cu130" }',
    )
    assert "\n".join(lines) in said  # a block that can be copied
    assert "uv lock --project /srv/app --upgrade-package torch\nuv sync --project /srv/app" in said
    assert "grep" not in said


def test_cpu_build_of_conda_is_mended_by_conda() -> None:
    conda = (
        CondaPackage(name="pytorch", version="2.0.1", build="py3.11_cpu_0", channel="pytorch"),
        CondaPackage(name="cpuonly", version="2.0", build="0", channel="pytorch"),
    )
    facts = environment(torch("2.0.1", **CPU), conda=conda, manager="conda", kind="conda", facts=machine("12.2"))
    said = commands(cpu_build, facts)
    assert "conda remove -p /opt/env cpuonly\n" in said
    assert "conda install -p /opt/env -c conda-forge pytorch-gpu cuda-version=12" in said


def test_wrong_vendor() -> None:
    facts = with_framework(torch(), amd_machine())
    expected = (
        "PyTorch 2.7.1 is built for CUDA 12.6, which is for NVIDIA GPUs; GPU 0 (AMD Radeon RX 7900 XTX) is an AMD GPU."
    )
    assert one(wrong_vendor, facts) == ("problem", expected)
    assert "https://download.pytorch.org/whl/rocm" in commands(wrong_vendor, facts)
    rocm = torch("2.6.0+rocm6.2.4", variant="rocm", cuda=None, hip="6.2.41134", archs=("gfx942",))
    expected = (
        "PyTorch 2.6.0+rocm6.2.4 is built for ROCm 6.2.41134, which is for AMD GPUs; GPU 0 (NVIDIA GeForce RTX 4090) "
        "is an NVIDIA GPU."
    )
    assert one(wrong_vendor, environment(rocm)) == ("problem", expected)
    assert one(wrong_vendor, environment(torch())) == ("pass", "")
    assert one(wrong_vendor, with_framework(torch(), plain_host())) == ("pass", "")
    assert one(wrong_vendor, environment(torch(variant=Unknown("closed")))) == ("unknown", "closed")


@pytest.mark.parametrize("changes", [{"integrated": True}, {"gfx": "gfx803"}, {"gfx": Unknown("no KFD")}])
def test_wrong_vendor_says_nothing_of_gpus_that_no_wheel_serves(changes: dict[str, Any]) -> None:
    assert one(wrong_vendor, with_framework(torch(), amd_machine(**changes))) == ("pass", "")


def test_driver_too_old() -> None:
    built = torch("2.10.0+cu130", cuda="13.0", archs=CU130, live=blind())
    facts = environment(built, facts=machine("12.9", card=A100))
    expected = (
        "PyTorch 2.10.0+cu130 is built for CUDA 13.0 and requires driver 580 or newer; the driver 570.169 (CUDA 12.9) "
        "is too old and supports at most CUDA 12.9."
    )
    assert one(driver_too_old, facts) == ("problem", expected)
    said = commands(driver_too_old, facts)
    assert "https://download.pytorch.org/whl/cu128 torch==2.10.0+cu128" in said
    assert "580" in said
    assert "cuda-compat" in said
    assert "cuda-toolkit" not in said


def test_a_newer_minor_of_the_drivers_major_is_no_problem() -> None:
    assert one(driver_too_old, environment(torch(cuda="12.9"), facts=machine("12.2"))) == ("pass", "")
    silent = change(machine(), "nvidia.cuda.version", Unknown("no answer"))
    silent = change(silent, "nvidia.nvml.cuda_version", Unknown("no answer"))
    assert one(driver_too_old, environment(torch(), facts=silent)) == ("unknown", "no answer")
    assert one(driver_too_old, environment(torch(cuda=Unknown("closed")))) == ("unknown", "closed")


def test_in_a_container_the_hosts_administrator_brings_the_driver() -> None:
    facts = change(environment(torch(cuda="13.0"), facts=machine("12.4")), "host.container", "docker")
    assert "apt-get" not in commands(driver_too_old, facts)
    assert "on the host" in commands(driver_too_old, facts)
    assert "cuda-compat" not in commands(driver_too_old, facts)


ARCHS = [
    (
        torch("2.7.1+cu126"),
        BLACKWELL,
        "12.8",
        "PyTorch 2.7.1+cu126 has no kernels for GPU 0 (NVIDIA GeForce RTX 5090, Blackwell, compute capability 12.0, "
        "sm_120): it covers only up to sm_90.",
        "whl/cu128",
    ),
    (
        torch("2.9.1+cu130", cuda="13.0", archs=CU130),
        PASCAL,
        "13.0",
        "PyTorch 2.9.1+cu130 has no kernels for GPU 0 (NVIDIA GeForce GTX 1080 Ti, Pascal, compute capability 6.1, "
        "sm_61): its kernels start at sm_75; support for older GPUs was dropped from this build.",
        "whl/cu126",
    ),
]


@pytest.mark.parametrize(("built", "card", "driver", "message", "index"), ARCHS)
def test_arch_missing(built: Any, card: dict[str, Any], driver: str, message: str, index: str) -> None:
    built = msgspec.structs.replace(built, live=live(archs=built.archs))
    facts = environment(built, facts=machine(driver, card=card))
    assert one(arch_missing, facts) == ("problem", message)
    said = commands(arch_missing, facts)
    assert index in said
    assert ("install --force-reinstall --no-deps --index-url" in said) != ("install --index-url" in said.split("\n")[1])


def test_arch_missing_passes_and_does_not_know() -> None:
    assert one(arch_missing, environment(torch())) == ("pass", "")
    ptx = torch(archs=("sm_80", "compute_90"), live=None)
    assert one(arch_missing, environment(ptx, facts=machine(card=BLACKWELL))) == ("pass", "")
    assert one(arch_missing, environment(torch(archs=Unknown("stripped"), live=None))) == ("unknown", "stripped")
    hidden = environment(torch(), facts=machine(card={"capability": Unknown("lost")}))
    assert one(arch_missing, hidden) == ("unknown", "lost")


def test_an_old_second_gpu_is_only_worth_a_hint() -> None:
    both = nvidia_host(2)
    both = change(change(both, "gpus.1.capability", "3.5"), "nvidia.cuda.devices", ())
    facts = msgspec.structs.replace(both, pythons=environment(torch(live=None)).pythons)
    assert severity(arch_missing, facts) == "advice"


LIVE = [
    (
        import_fails,
        {"import_error": "ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"},
        "PyTorch 2.7.1 fails to import: ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
    ),
    (import_hangs, {"hung": True, "stage": "init"}, "PyTorch 2.7.1 hangs while initializing CUDA."),
    (
        import_crashes,
        {"died": "SIGSEGV", "stage": "import"},
        "PyTorch 2.7.1 crashes with SIGSEGV in the stage import, before it reports any GPU.",
    ),
    (
        no_gpu,
        {"available": False, "count": 1, "error": "CUDA unknown error"},
        "PyTorch 2.7.1 does not use GPU 0 (NVIDIA GeForce RTX 4090).",
    ),
    (
        cudnn_mismatch,
        {"cudnn_error": "RuntimeError: cuDNN version incompatibility"},
        "PyTorch 2.7.1 refuses cuDNN: RuntimeError: cuDNN version incompatibility",
    ),
]


def test_a_gpu_that_its_cudnn_dropped_is_no_mismatch() -> None:
    """The wheel's cuDNN is the one that PyTorch was built with: the same once more would change nothing."""
    error = "RuntimeError: cuDNN version 92600 is not compatible with devices with SM < 7.5"
    cudnn = (package("nvidia-cudnn-cu12", "9.26.0.51"),)
    facts = environment(torch(live=live(cudnn_error=error), cudnn="9.26.0.51"), packages=cudnn)
    (found,) = run(cudnn_mismatch, facts)
    assert found.problem is not None
    assert "before Turing" in (found.problem.cause or "")
    assert "'nvidia-cudnn-cu12<9.11'" in commands(cudnn_mismatch, facts)
    assert "9.26" not in commands(cudnn_mismatch, facts)


@pytest.mark.parametrize(("check", "changes", "message"), LIVE)
def test_what_pytorch_says_itself(check: Any, changes: dict[str, Any], message: str) -> None:
    assert one(check, environment(torch(live=live(**changes)))) == ("problem", message)
    assert one(check, environment(torch())) == ("pass", "")
    assert one(check, environment(torch(live=None))) == ("skipped", "")


GONE = "ModuleNotFoundError: No module named 'typing_extensions'"


def test_an_extension_that_pytorch_loads_by_itself_is_removed() -> None:
    error = "RuntimeError: Failed to load the backend extension: torch_npu. You can disable extension auto-loading."
    facts = environment(torch(live=live(import_error=error)))
    gone, off = run(import_fails, facts)[0].fixes
    assert gone.commands == ("/opt/env/bin/python -m pip uninstall -y torch-npu",)
    assert off.commands == ("export TORCH_DEVICE_BACKEND_AUTOLOAD=0",)


def test_the_same_build_is_installed_again_with_its_companions() -> None:
    there = (package("torch", "2.7.1+cu126"), package("torchvision", "0.22.1+cu126"))
    facts = change(environment(torch(live=live(import_error=GONE)), version="3.12.1"), "pythons.0.packages", there)
    first, *_ = run(import_fails, facts)[0].fixes
    source = "--index-url https://download.pytorch.org/whl/cu126 torch==2.7.1+cu126 torchvision==0.22.1+cu126"
    assert first.commands == (
        f"/opt/env/bin/python -m pip install --force-reinstall --no-deps {source}",
        f"/opt/env/bin/python -m pip install {source}",
    )


def test_a_nightly_build_is_replaced_before_it_is_installed_again() -> None:
    broken = live(import_error="ImportError: librocprofiler-sdk.so.1: cannot open shared object file")
    nightly = torch(version="2.8.0.dev20250601+cu126", variant="cu126", live=broken)
    there = (package("torch", "2.8.0.dev20250601+cu126"),)
    fits, again = run(import_fails, environment(nightly, packages=there, version="3.12.1"))[0].fixes
    assert "dev" not in fits.commands[0]
    assert "/whl/nightly/cu126 torch==2.8.0.dev20250601+cu126" in again.commands[0]


def test_an_error_that_is_known_has_its_own_fix_first() -> None:
    broken = torch(live=live(import_error="ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"))
    assert commands(import_fails, environment(broken)).startswith("Install an older MKL")


def test_the_same_build_is_not_sought_where_another_decides() -> None:
    broken = torch(live=live(import_error="ImportError: libc10.so: file too short"))
    plain = environment(broken, packages=(package("torch", "2.7.1"),), version="3.12.1")
    first = run(import_fails, plain)[0].fixes[0].commands[0]
    assert first == "/opt/env/bin/python -m pip install --force-reinstall --no-deps torch==2.7.1"  # PyPI's build
    project = change(change(plain, "pythons.0.manager", "uv"), "pythons.0.project", "/srv/app")
    assert "/srv/app/pyproject.toml" in run(import_fails, project)[0].fixes[0].message


def test_what_it_said_is_evidence_and_is_told_once() -> None:
    words = "CUDA unknown error - this may be due to an incorrectly set up environment"
    said = live(0, error=words, warnings=(f"UserWarning: {words}",), stderr=f"{words}\n")
    found = run(no_gpu, environment(torch(live=said)))[0].problem
    assert found is not None
    assert [text for text in found.evidence if "unknown error" in text] == [words]
    silent = run(no_gpu, environment(torch(live=live(0, error="", stderr="cuInit: 999\n"))))[0].problem
    assert silent is not None
    assert silent.evidence[0] == "cuInit: 999"


def test_no_gpu_does_not_know_or_has_nothing_to_say() -> None:
    assert one(no_gpu, environment(torch(live=live(available=Unknown("it hung"))))) == ("unknown", "it hung")
    assert one(no_gpu, with_framework(torch(live=blind()), plain_host())) == ("pass", "")


def test_fewer_gpus() -> None:
    facts = change(nvidia_host(2), "nvidia.cuda.devices", (CudaDevice(index=0), CudaDevice(index=1)))
    facts = msgspec.structs.replace(facts, pythons=environment(torch(live=live(1))).pythons)
    assert one(fewer_gpus, facts) == ("problem", "PyTorch 2.7.1 sees 1 of the 2 GPUs that CUDA lists.")
    whole = msgspec.structs.replace(facts, pythons=environment(torch(live=live(2))).pythons)
    assert one(fewer_gpus, whole) == ("pass", "")
    silent = change(facts, "nvidia.cuda.devices", Unknown("no answer"))
    assert one(fewer_gpus, silent) == ("unknown", "no answer")


def test_an_old_driver_is_one_finding_with_what_pytorch_says_under_it() -> None:
    built = torch("2.10.0+cu130", cuda="13.0", archs=CU130, live=blind(error="The NVIDIA driver is too old"))
    facts = environment(built, facts=machine("12.9"))
    checks = load(("pytorch.driver-too-old", "pytorch.no-gpu", "pytorch.arch-missing"))
    found, unknown = findings(judge(facts, checks))
    assert [f.root.check.id for f in found] == ["pytorch.driver-too-old"]
    assert [v.check.id for v in found[0].consequences] == ["pytorch.no-gpu"]
    assert unknown == []


def test_torchvision_comes_along() -> None:
    facts = environment(torch("2.7.1+cpu", **CPU), packages=(package("torchvision", "0.22.1+cpu"),))
    assert "whl/cu126 torch==2.7.1+cu126 torchvision==0.22.1+cu126" in commands(cpu_build, facts)


@pytest.mark.parametrize(
    ("version", "card"),
    [
        ("2.5.1+cpu", BLACKWELL),  # no build of it has code for the GPU
        ("2.7.0.dev20250301+cpu", A100),
        ("2.7.0a0+7c8ec84", A100),
        ("1.9.0+cpu", A100),  # too old for the tables
    ],
)
def test_another_release_where_the_installed_one_has_no_such_build(version: str, card: dict[str, Any]) -> None:
    facts = environment(torch(version, **CPU), facts=machine(card=card))
    assert "torch==" not in commands(cpu_build, facts)


def test_the_installed_build_again_is_no_other() -> None:
    facts = environment(torch("2.7.1+cu128", cuda="12.8", archs=("sm_90",)), facts=machine(card=BLACKWELL))
    assert "torch==" not in commands(arch_missing, facts)


def test_a_build_without_code_for_the_gpu_stays_below_a_driver_that_does_not_work() -> None:
    facts = environment(torch(), facts=change(machine(card=BLACKWELL), "pci.0.capability", "12.0"))
    assert severity(arch_missing, facts) == "fail"
    unlisted = change(facts, "gpus", ())
    assert (one(arch_missing, unlisted)[0], severity(arch_missing, unlisted)) == ("problem", "warn")
