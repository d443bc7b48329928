"""Which finding is the root cause on each whole machine, how bad it is, and what follows from it."""

import pytest

from gpudoctor.pipeline import check
from gpudoctor.report.model import Report
from tests.causes.several import SEVERAL
from tests.machines.registry import machines

# Each finding: the root cause, its status, and after "<" what stands under it; " ; " between two findings.
EXPECTED = {
    "a-file-called-torch": "python.shadowed-module warn",
    "a-full-disk-cut-pytorch": (
        "libraries.wheel-incomplete fail < packages.torchvision-mismatch pytorch.import-crashes"
    ),
    "amdgpu-dkms-not-built": "rocm.dkms-build-failed fail < pytorch.no-gpu rocm.not-loaded",
    "amdgpu-not-loaded": "rocm.not-loaded fail < pytorch.no-gpu",
    "apptainer-without-nv": "container.libraries-not-passed fail < pytorch.no-gpu",
    "arc-b580-with-an-old-kernel": "intel.not-driven fail < intel.no-gpu",
    "arc-with-a-cuda-wheel": "intel.torch-not-for-xpu warn",
    "arc-without-level-zero": "intel.level-zero-missing fail < intel.no-gpu",
    "arc-without-the-group-render": "intel.render-node-closed fail < intel.no-gpu",
    "atomics-missing": "rocm.pcie-atomics fail < pytorch.no-gpu rocm.no-topology",
    "blackwell-with-older-wheels": "pytorch.arch-missing fail < pytorch.nvrtc-too-old pytorch.unusable-gpu",
    "card-bound-to-vfio": "driver.vfio-in-the-way fail < driver.cuda-error driver.not-loaded driver.nvml-error",
    "card-not-seated": "link.narrow-pcie warn",
    "card-that-the-wheel-does-not-know": "rocm.gfx-not-in-wheel fail < pytorch.unusable-gpu",
    "card-without-a-driver": "driver.not-installed fail < pytorch.no-gpu",
    "container-without-gpu": (
        "container.no-gpus-passed fail < cupy.no-gpu driver.cuda-error jax.no-gpu pytorch.no-gpu tensorflow.no-gpu"
    ),
    "cpu-build-of-conda": "pytorch.cpu-build fail",
    "cpu-wheel": "pytorch.cpu-build fail",
    "cuda-13-on-a-driver-for-12": "pytorch.driver-too-old fail < pytorch.no-gpu",
    "cuda-wheel-on-amd": "pytorch.wrong-vendor fail",
    "cudnn-replaced-under-pytorch": "libraries.cudnn-pin-broken advice",
    "cupy-for-another-cuda": "cupy.wrong-cuda-major fail",
    "debian-13-with-the-repository-of-debian-12": (
        "driver.repository-of-another-release fail < driver.not-installed pytorch.no-gpu"
    ),
    "device-error-after-an-xid": "device.ecc-uncorrected fail < smoke.device-error",
    "device-nodes-missing": "driver.device-nodes-missing fail < driver.cuda-error driver.nvml-error pytorch.no-gpu",
    "docker-without-gpus": "container.no-gpus-passed fail < pytorch.no-gpu",
    "driver-installed-inside": (
        "container.driver-version-inside fail < driver.compat-mismatch driver.cuda-error "
        "driver.library-mismatch driver.nvml-error pytorch.no-gpu"
    ),
    "driver-not-loaded": (
        "driver.not-loaded fail < cupy.no-gpu driver.cuda-error driver.nvml-error jax.no-gpu pytorch.no-gpu "
        "tensorflow.no-gpu"
    ),
    "driver-that-does-not-fit-the-apu": "rocm.rocminfo-fails fail < pytorch.no-gpu rocm.gfx-not-in-wheel",
    "dust-in-the-fan": "health.overheated warn",
    "exclusive-mode-left-on": "device.exclusive-mode fail < pytorch.unusable-gpu",
    "fabric-manager-down": (
        "fabric.manager-down fail < cupy.no-gpu driver.cuda-error fabric.not-ready jax.no-gpu pytorch.no-gpu "
        "tensorflow.no-gpu"
    ),
    "fabric-manager-not-running": "fabric.manager-down fail < driver.cuda-error fabric.not-ready pytorch.no-gpu",
    "fabric-manager-of-another-version": (
        "fabric.manager-mismatch fail < driver.cuda-error fabric.manager-down fabric.not-ready pytorch.no-gpu"
    ),
    "fell-off-the-bus": "device.fallen-off-the-bus fail < driver.cuda-error pytorch.no-gpu",
    "flashinfer-kernels-of-another-release": "packages.mixed-releases fail",
    "gpu-lost-under-load": (
        "device.fallen-off-the-bus fail < cupy.no-gpu driver.cuda-error jax.no-gpu pytorch.no-gpu tensorflow.no-gpu"
    ),
    "gsp-stopped": "device.gsp-failed fail < device.needs-reset driver.cuda-error driver.uvm-stale pytorch.no-gpu",
    "half-removed-torch": "python.half-removed fail < pytorch.import-fails",
    "hidden-by-a-variable": "visibility.cuda-hides-all fail < cupy.no-gpu jax.no-gpu pytorch.no-gpu tensorflow.no-gpu",
    "hot-card-computes-slowly": "health.overheated fail < smoke.slow-matmul smoke.tensor-cores-idle",
    "instance-that-lost-a-gpu": "cloud.fewer-gpus fail",
    "interpreter-broken": "python.interpreter-broken fail",
    "jax-plugin-of-another-version": "jax.plugin-skew fail < jax.no-gpu",
    "jax-without-its-plugin": "jax.cpu-only fail",
    "job-without-a-gpu": "visibility.cuda-hides-all fail < pytorch.no-gpu",
    "kfd-refused-in-a-container": "rocm.kfd-refused fail < pytorch.no-gpu",
    "kfd-without-permission": "rocm.kfd-no-permission fail < pytorch.no-gpu",
    "libcuda-not-installed": "driver.library-missing fail < pytorch.no-gpu",
    "library-mismatch": (
        "driver.library-mismatch fail < cupy.no-gpu driver.cuda-error driver.nvml-error jax.no-gpu "
        "pytorch.no-gpu tensorflow.no-gpu"
    ),
    "linux-driver-in-wsl": "wsl.linux-driver-installed fail < driver.cuda-error driver.nvml-error",
    "lost-after-a-daemon-reload": (
        "container.device-access-lost fail < driver.cuda-error driver.nvml-error pytorch.no-gpu"
    ),
    "macbook-with-an-old-tensorflow-metal": "apple.tensorflow-metal-mismatch fail < tensorflow.import-fails",
    "macbook-with-macos-13": "apple.mps-unavailable fail",
    "macbook-with-pythons-for-intel": "apple.rosetta-python fail < apple.mps-not-built",
    "mask-hides-the-radeon": "visibility.hip-hides-all fail < pytorch.no-gpu",
    "mask-names-a-gpu-that-is-not-there": "visibility.cuda-out-of-range fail < pytorch.no-gpu",
    "mask-selects-the-integrated-gpu": "visibility.hip-selects-integrated fail < rocm.gfx-not-in-wheel",
    "mig-not-cut": "mig.no-instances fail < cupy.no-gpu driver.cuda-error jax.no-gpu pytorch.no-gpu tensorflow.no-gpu",
    "mig-without-instances": "mig.no-instances fail < driver.cuda-error pytorch.no-gpu",
    "module-blacklisted": (
        "driver.blacklisted fail < driver.cuda-error driver.not-loaded driver.nvml-error pytorch.no-gpu"
    ),
    "module-not-loaded": "driver.not-loaded fail < driver.cuda-error driver.nvml-error pytorch.no-gpu",
    "new-kernel-without-a-module": (
        "driver.built-for-another-kernel fail < driver.cuda-error driver.no-module-for-kernel "
        "driver.nvml-error pytorch.no-gpu"
    ),
    "new-kernel-without-headers": (
        "driver.headers-missing fail < driver.built-for-another-kernel driver.cuda-error "
        "driver.no-module-for-kernel driver.nvml-error pytorch.no-gpu"
    ),
    "no-room-for-the-cards-memory": "device.bar-unassigned fail < driver.cuda-error driver.nvml-error pytorch.no-gpu",
    "nouveau-holds-the-card": (
        "driver.nouveau-in-the-way fail < driver.cuda-error driver.not-loaded driver.nvml-error pytorch.no-gpu"
    ),
    "numpy-2-under-old-binaries": "python.numpy-2 warn",
    "numpy-2-under-two-frameworks": "python.numpy-2 fail < pytorch.import-fails",
    "nvidia-smi-hangs": "driver.nvml-no-answer fail < pytorch.import-hangs",
    "old-driver-under-two-frameworks": (
        "pytorch.driver-too-old fail < pytorch.no-gpu ; cupy.driver-too-old fail < cupy.no-gpu"
    ),
    "old-module-in-the-initramfs": (
        "driver.library-mismatch fail < driver.cuda-error driver.nvml-error pytorch.no-gpu"
    ),
    "onnxruntime-for-the-cpu": "onnxruntime.cpu-package advice",
    "onnxruntime-twice": "onnxruntime.both-packages fail",
    "open-module-for-pascal": (
        "driver.open-module-unsupported fail < driver.cuda-error driver.nvml-error pytorch.no-gpu"
    ),
    "pascal-with-cuda-13": "pytorch.arch-missing fail < pytorch.unusable-gpu",
    "pod-without-a-gpu-limit": "container.no-gpus-passed fail < pytorch.no-gpu",
    "podman-too-old-for-the-specification": "container.cdi-not-parsed warn",
    "power-supply-brakes": (
        "health.power-brake warn ; "
        "health.power-brake warn ; "
        "health.power-brake warn ; "
        "health.power-brake warn ; "
        "health.power-brake warn ; "
        "health.power-brake warn ; "
        "health.power-brake warn ; "
        "health.power-brake warn"
    ),
    "privileged-without-gpus": "container.libraries-not-passed fail < driver.stub-library pytorch.no-gpu",
    "real-time-kernel": (
        "driver.realtime-kernel fail < driver.built-for-another-kernel driver.cuda-error "
        "driver.dkms-build-failed driver.no-module-for-kernel driver.nvml-error pytorch.no-gpu"
    ),
    "rows-wait-for-a-reset": "device.row-remap-pending warn",
    "slept-and-lost-unified-memory": "driver.uvm-stale fail < driver.cuda-error pytorch.no-gpu",
    "slot-without-atomics": "rocm.pcie-atomics fail < pytorch.no-gpu rocm.no-topology",
    "slurm-job-that-asked-for-no-gpu": (
        "cluster.job-without-gpu fail < driver.cuda-error driver.no-devices pytorch.no-gpu"
    ),
    "small-shm-with-eight-gpus": "container.shm-small warn",
    "stub-on-the-loaders-path": "driver.stub-library fail < driver.cuda-error pytorch.no-gpu",
    "tensorflow-without-its-extra": "tensorflow.libraries-missing fail < tensorflow.no-gpu",
    "toolkit-not-registered": "container.runtime-not-configured warn",
    "two-cupys": "cupy.several-packages fail",
    "unified-memory-missing": (
        "driver.uvm-missing fail < cupy.no-gpu driver.cuda-error jax.no-gpu pytorch.no-gpu tensorflow.no-gpu"
    ),
    "unsigned-module-under-secure-boot": (
        "driver.refused-by-secure-boot fail < driver.cuda-error driver.not-loaded driver.nvml-error "
        "driver.refused-by-lockdown pytorch.no-gpu"
    ),
    "up-for-67-days": "driver.uptime-hang fail < driver.cuda-no-answer driver.nvml-no-answer pytorch.import-hangs",
    "upgraded-under-a-running-kernel": (
        "driver.library-mismatch fail < driver.cuda-error driver.nvml-error pytorch.no-gpu"
    ),
    "user-not-in-render": "rocm.kfd-no-permission fail < pytorch.no-gpu",
    "windows-with-code-43": "windows.adapter-stopped fail < pytorch.no-gpu",
    "windows-with-pips-torch": "pytorch.cpu-build fail",
    "windows-without-the-cpp-runtime": "windows.dll-not-loaded fail < pytorch.import-fails",
    "worn-memory": "device.row-remap-failed fail",
    "worn-memory-computes-wrongly": "device.ecc-uncorrected fail < smoke.unstable-product smoke.wrong-result",
    "wrong-results-from-the-ground-up": "smoke.wrong-result fail < smoke.wrong-inference smoke.wrong-mixed-precision",
    "torchvision-and-torchaudio-of-an-older-release": "packages.torchvision-mismatch fail",
    "wsl-1": "wsl.version-1 fail < device.no-gpu driver.cuda-error",
    "wsl-switched-off": "wsl.gpu-disabled fail < driver.cuda-error wsl.no-dxg",
    "wsl-without-dxg": "wsl.no-dxg fail < driver.cuda-error",
}
MACHINES = {one.name: one.make for one in machines() if one.root is not None}
MACHINES |= {make.__name__.replace("_", "-"): make for make in SEVERAL}


def _written(report: Report) -> str:
    found = []
    for one in report.findings:
        under = " ".join(sorted({consequence.check for consequence in one.consequences}))
        found.append(f"{one.check} {one.status}{' < ' * bool(under)}{under}")
    return " ; ".join(found)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_its_root_cause(name: str) -> None:
    assert _written(check(facts=MACHINES[name]())) == EXPECTED[name]


def test_each_machine_has_its_row() -> None:
    assert sorted(EXPECTED) == sorted(MACHINES)
    assert not {make.__name__.replace("_", "-") for make in SEVERAL} & {one.name for one in machines()}
