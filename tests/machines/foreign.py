"""Machines with Intel's GPUs, Macs, and PCs with Windows."""

from typing import Any

import msgspec

from gpudoctor.facts import Adapter, Facts, LiveFramework
from tests.builders import framework, live
from tests.checks import intel_machines as intel
from tests.checks.apple import test_apple as apple
from tests.checks.windows import test_windows as windows
from tests.machines.registry import machine


@machine()
def arc_workstation() -> Facts:
    return intel.arc_host(intel.xpu())


@machine("intel.not-driven")
def arc_b580_with_an_old_kernel() -> Facts:
    card: dict[str, Any] = {"pci__1__device": "e20b", "pci__1__driver": None}
    card["pci__1__name"] = "Battlemage G21 [Arc B580]"
    return intel.arc_host(intel.xpu(0), intel__render=(), **card)


@machine("intel.render-node-closed")
def arc_without_the_group_render() -> Facts:
    return intel.arc_host(intel.xpu(0), intel__render=(intel.CLOSED,))


@machine("intel.level-zero-missing")
def arc_without_level_zero() -> Facts:
    return intel.arc_host(intel.xpu(0), intel__loader=None, intel__level_zero=None)


@machine("intel.torch-not-for-xpu")
def arc_with_a_cuda_wheel() -> Facts:
    return intel.arc_host(framework(live=live(0, error="Found no NVIDIA driver on your system.")))


@machine()
def macbook() -> Facts:
    return apple.mac(apple.torch())


@machine("apple.rosetta-python")
def macbook_with_pythons_for_intel() -> Facts:
    return apple.mac(apple.torch(0, built=False, variant="cpu"), pythons__0__architecture="x86_64")


@machine("apple.mps-unavailable")
def macbook_with_macos_13() -> Facts:
    return apple.mac(apple.torch(0), apple__macos="13.7.4", host__distribution__name="macOS 13.7.4")


@machine("apple.tensorflow-metal-mismatch")
def macbook_with_an_old_tensorflow_metal() -> Facts:
    words = (
        "NotFoundError: dlopen(libmetal_plugin.dylib): Symbol not found: __ZN10tensorflow8internal10LogMessageC1EPKcii"
    )
    broken = framework(
        "tensorflow", "2.20.0", variant="cpu", cuda=None, live=LiveFramework(stage="import", import_error=words)
    )
    return apple.mac(broken, packages=("tensorflow-metal==1.2.0",))


@machine()
def windows_with_nvidia() -> Facts:
    return windows.windows(windows.CUDA)


@machine("pytorch.cpu-build")
def windows_with_pips_torch() -> Facts:
    return windows.windows(windows.CPU)


@machine("windows.adapter-stopped")
def windows_with_code_43() -> Facts:
    stopped = Adapter(name=windows.RTX.name, vendor="10de", device="2684", driver="32.0.15.5222", problem=43)
    silent = live(0, error="CUDA driver initialization failed, you might not have a CUDA gpu.")
    broken = msgspec.structs.replace(windows.CUDA, live=silent)
    return windows.windows(broken, windows__adapters=(stopped, windows.UHD), gpus=())


@machine("windows.dll-not-loaded")
def windows_without_the_cpp_runtime() -> Facts:
    broken = windows.failed("c10.dll", "2.9.1+cu126")
    broken = msgspec.structs.replace(broken, variant="cuda", cuda="12.6", archs=windows.CUDA.archs)
    return windows.windows(broken, windows__vc_runtime=None)
