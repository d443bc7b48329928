"""Wheels for AMD GPUs, and for machines without a GPU."""

from collections.abc import Iterable

from gpudoctor.knowledge import jax, newest, onnxruntime, rocm, tensorflow, torch
from gpudoctor.knowledge.kernels import version
from gpudoctor.queries.gpus import torch_gfx
from gpudoctor.setup.choice import is_release, libc_fits, torch_spec
from gpudoctor.setup.plan import TargetPlatform, Wheel


def for_cpu(
    ground: TargetPlatform, names: Iterable[str], python: str | None, release: str | None = None
) -> tuple[Wheel, ...]:
    """The wheels for the CPU of those that have any for this Python; of PyTorch those for Intel's and Apple's GPUs."""
    found = (_cpu(ground, name, python, release) for name in names if libc_fits(ground, name, cpu=True))
    return tuple(wheel for wheel in found if wheel is not None)


def _plain_torch(ground: TargetPlatform, python: str | None, release: str | None) -> Wheel | None:
    known = (r for r in reversed(torch.torch().release) if is_release(r.version, release))
    row = next((r for r in known if not r.assumed and _fits(python, *r.python)), None)
    if row is None:
        return None
    requirement, variant, index = torch_spec(row.version, release), "cpu", None
    if ground.vendor == "intel":
        variant, index = "xpu", torch.index_of("xpu")
        why = f"PyTorch {row.version} for Intel GPUs (device xpu); it includes the SYCL runtime."
    elif ground.kernel == "Darwin":
        why = f"PyTorch {row.version}, which uses Apple's GPU through Metal (device mps)."
    elif ground.kernel == "Windows":
        why = f"PyTorch {row.version} for the CPU."
    else:
        index = torch.index_of("cpu")
        why = f"PyTorch {row.version} for the CPU: a fraction of the size of the CUDA build on PyPI."
    return Wheel(framework="torch", requirement=requirement, variant=variant, index=index, why=why)


def _cpu(ground: TargetPlatform, name: str, python: str | None, release: str | None) -> Wheel | None:
    if name == "torch":
        return _plain_torch(ground, python, release)
    if name == "tensorflow":
        last = tensorflow.newest()
        if not _fits(python, *last.python):
            return None
        why = "TensorFlow without CUDA libraries (CPU only)."
        return Wheel(framework=name, requirement=f"tensorflow>={last.version}", variant="cpu", why=why)
    if name == "jax":
        lowest = jax.lowest_python("0.4.30")
        if python and lowest and version(python) < version(lowest):
            return None
        return Wheel(framework=name, requirement="jax>=0.4.30", variant="cpu", why="JAX without a GPU plugin.")
    if name == "onnxruntime" and _fits(python, *onnxruntime.onnxruntime().row[-1].python):
        own = newest.newest().framework["onnxruntime"]
        why = "ONNX Runtime for the CPU; the GPU package would overwrite its files."
        return Wheel(framework=name, requirement=f"onnxruntime>=1.22,<{version(own)[0] + 1}", variant="cpu", why=why)
    return None


def for_amd(
    ground: TargetPlatform, names: Iterable[str], python: str | None, release: str | None = None
) -> tuple[Wheel, ...]:
    """The wheels for AMD GPUs of those frameworks that have any."""
    found = (_amd(ground, name, python, release) for name in names if libc_fits(ground, name))
    return tuple(wheel for wheel in found if wheel is not None)


def _amd(ground: TargetPlatform, name: str, python: str | None, release: str | None) -> Wheel | None:
    if name == "torch":
        return _torch(ground, python, release)
    plugin = jax.jax().rocm
    if (
        name == "jax"
        and set(ground.gfx) <= set(plugin.gfx.split())
        and (python is None or _fits(python, "3.12", "3.99"))
        and rocm_fits(ground)
    ):
        why = f"JAX with its plugin for ROCm {plugin.rocm}, which uses the ROCm installed on the machine."
        requirement = f"jax[rocm{plugin.rocm}-local]>=0.12"
        return Wheel(framework=name, requirement=requirement, variant=f"rocm{plugin.rocm}", why=why)
    return None


def rocm_fits(ground: TargetPlatform) -> bool:
    """Whether the ROCm on the machine is of the major that JAX's plugin is built for."""
    return (ground.rocm or "").partition(".")[0] == jax.jax().rocm.rocm.partition(".")[0]


def _torch(ground: TargetPlatform, python: str | None, release: str | None) -> Wheel | None:
    """The newest build that has code for each of the GPUs, or for the sibling whose code it takes by an override."""
    targets = {torch_gfx(gfx) for gfx in ground.gfx}
    for row in (r for r in reversed(torch.torch().release) if is_release(r.version, release)):
        for number in sorted(row.rocm.split(), key=version, reverse=True):
            there = torch.torch().rocm_gfx.get(number, "").split()
            if targets <= set(there) and _fits(python, *row.python):
                variant = f"rocm{number}"
                return Wheel(
                    framework="torch",
                    requirement=torch_spec(row.version, release),
                    variant=variant,
                    index=torch.index_of(variant),
                    why=f"PyTorch {row.version} for ROCm {number}, which has code for {', '.join(ground.gfx)} and "
                    "includes its ROCm libraries.",
                )
    return None


def override(ground: TargetPlatform) -> str | None:
    """The variable by which PyTorch takes a sibling's code, where it has none for a GPU itself; None: not needed."""
    borrowed = [gfx for gfx in ground.gfx if torch_gfx(gfx) != gfx]
    found = next((rocm.override_for(gfx) for gfx in borrowed), None)
    return f"HSA_OVERRIDE_GFX_VERSION={found}" if found else None


def _fits(python: str | None, lowest: str, highest: str) -> bool:
    return python is None or version(lowest) <= version(python)[:2] <= version(highest)
