"""Says why a wish cannot be met on this machine, and what would do instead."""

import msgspec

from gpudoctor.fixes.amd import INSTALL
from gpudoctor.knowledge import generations, jax, rocm, wheels
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import phrase
from gpudoctor.registry import BY_MODULE
from gpudoctor.setup.choice import LINUX_ONLY, WheelChoice, choose, libc_fits
from gpudoctor.setup.plan import Refusal, TargetPlatform
from gpudoctor.setup.rocm_cpu import rocm_fits
from gpudoctor.targets import NAMES

NGC = "nvcr.io/nvidia/tensorflow"
ANY: tuple[str | None, ...] = (None,)


def refusal(
    ground: TargetPlatform, name: str, driver_cuda: str | None, choice: WheelChoice, fixed_python: bool
) -> Refusal:
    """Why a framework has no place in a choice for NVIDIA GPUs.

    Args:
        ground: the machine.
        name: the framework's import name.
        driver_cuda: the CUDA release that the driver runs.
        choice: the choice that was made, without it.
        fixed_python: the Python is an environment's own, which cannot change.
    """
    request = NAMES[name]
    return (
        _no_capability(ground, request)
        or _system(ground, name)
        or _gpu(ground, name)
        or _driver(ground, name, driver_cuda)
        or _python(ground, name, driver_cuda, choice, fixed_python)
        or _next_to(request, choice)
    )


def _no_capability(ground: TargetPlatform, request: str) -> Refusal | None:
    if ground.capabilities:
        return None
    why = "The GPU's compute capability is unknown, and it decides which build has code for this GPU."
    return Refusal(request, why, "Run `gpudoctor check`: it shows why the GPU does not report it, and how to fix that.")


def _system(ground: TargetPlatform, name: str, *, cpu: bool = False) -> Refusal | None:
    """The C library or the CPU."""
    if libc_fits(ground, name, cpu=cpu):
        return None
    request, architecture = NAMES[name], ground.architecture or "x86_64"
    if ground.kernel == "Darwin":
        why = f"The newest releases of {request} have no wheels for Intel Macs."
        return Refusal(request, why, "Use a Mac with Apple silicon, or Linux on this one.")
    if ground.kernel == "Windows" and name in LINUX_ONLY:
        why = f"{request} has GPU builds for Linux only."
        return Refusal(request, why, "Install it in WSL 2 (`wsl --install`), and run this again there.")
    lowest = wheels.lowest_glibc(name, architecture, cpu=cpu)
    if lowest is None:
        why = f"The package index has no wheels of {request} for NVIDIA GPUs on {architecture}."
        return Refusal(request, why, f"Use NVIDIA's container of {request}, or build it from source.")
    own = "musl" if ground.glibc == "musl" else phrase("glibc {}", ground.glibc) or "an unknown glibc version"
    why = f"{ground.system or 'This distribution'} has {own}; the wheels of {request} need glibc {lowest} or newer."
    return Refusal(request, why, "Run it in a container of a newer distribution, Debian or Ubuntu for example.")


def _alone(ground: TargetPlatform, name: str, driver_cuda: str | None = None, python: str | None = None) -> WheelChoice:
    return choose(ground, (name,), driver_cuda, (python,))


def _gpu(ground: TargetPlatform, name: str) -> Refusal | None:
    """No build has code for all of the GPUs, whatever the driver and Python."""
    if _alone(ground, name).wheels:
        return None
    request, each = NAMES[name], {c: _alone(_only(ground, c), name) for c in ground.capabilities}
    served = [c for c, choice in each.items() if choice.wheels]
    if served and len(ground.capabilities) > 1:
        return _mixed(request, ground, served)
    if name == "tensorflow" and version(ground.capabilities[-1])[0] >= 10:
        why = (
            f"No release of TensorFlow has code for compute capability {ground.capabilities[-1]} (Blackwell and "
            "newer), and its PTX does not compile for it."
        )
        instead = (
            f"Use NVIDIA's build in the container {NGC} (tag 25.02 or newer), or use PyTorch or JAX, which have code "
            "for this GPU (Keras 3 runs on both)."
        )
        return Refusal(request, why, instead)
    return Refusal(request, _too_old(ground, request, name), _instead_of_old(name))


def _mixed(request: str, ground: TargetPlatform, served: list[str]) -> Refusal:
    them = ", ".join(ground.capabilities)
    why = f"No build of {request} has code for all GPUs of this machine (compute capabilities {them})."
    if len(served) < len(ground.capabilities):
        instead = f"Set CUDA_VISIBLE_DEVICES so that it sees only the GPUs of compute capability {', '.join(served)}."
    else:
        instead = (
            "Create one environment for each GPU generation, and set CUDA_VISIBLE_DEVICES to the matching GPUs in each."
        )
    return Refusal(request, why, instead)


def _too_old(ground: TargetPlatform, request: str, name: str) -> str:
    lowest = ground.capabilities[0]
    found = generations.generation_of_capability(lowest)
    generation = f" ({found.name})" if found else ""
    more = ""
    if name == "jax":
        more = f" (its plugins start at {jax.plugin('cuda12').lowest_capability})"
    last = f"; the last CUDA toolkit for it is {found.last_cuda}" if found and found.last_cuda else ""
    return f"No build of {request} that includes its CUDA libraries has code for {lowest}{generation}{more}{last}."


def _instead_of_old(name: str) -> str:
    if name == "torch":
        return "Build PyTorch from source for this GPU, or use the CPU (--cpu)."
    return "Use PyTorch where that has a build for this GPU, or use the CPU (--cpu)."


def _driver(ground: TargetPlatform, name: str, driver_cuda: str | None) -> Refusal | None:
    """The driver is too old, and a newer one does not come."""
    if driver_cuda is None or _alone(ground, name, driver_cuda).wheels:
        return None
    request = NAMES[name]
    major = _alone(ground, name).major
    old = [c for c in ground.capabilities if (g := generations.generation_of_capability(c)) and g.last_driver]
    why = f"{request} is built for CUDA {major} here, but the driver supports CUDA up to {driver_cuda}."
    if old and int(version(driver_cuda)[0]) <= 12:
        found = generations.generation_of_capability(old[0])
        why += phrase(" The last driver branch for compute capability {} is {}.", old[0], found and found.last_driver)
    return Refusal(request, why, "Allow a newer driver (--driver yes) if the GPU has one, or use another framework.")


def _python(
    ground: TargetPlatform, name: str, driver_cuda: str | None, choice: WheelChoice, fixed: bool
) -> Refusal | None:
    """The environment's Python has no wheels."""
    if choice.python is None or _alone(ground, name, driver_cuda, choice.python).wheels:
        return None
    others = [p for p in wheels.preferred_pythons() if _alone(ground, name, driver_cuda, p).wheels]
    request = NAMES[name]
    why = f"No wheel of {request} for this GPU and driver exists for Python {choice.python}."
    if not others:
        return Refusal(request, why, "Use another framework.")
    where = "without --into" if fixed else "of its own"
    return Refusal(
        request, why, f"Create an environment {where} with Python {others[0]} (--python-version {others[0]})."
    )


def _next_to(request: str, choice: WheelChoice) -> Refusal:
    """It would be well alone, and not next to the others."""
    there = ", ".join(NAMES[w.framework] for w in choice.wheels)
    need = "needs" if len(choice.wheels) == 1 else "need"
    why = (
        f"Its wheels here are not for CUDA {choice.major}, which {there} {need}, or they need other releases of cuDNN "
        "and NCCL; one process can load only one of each."
    )
    return Refusal(
        request, why, f"Install it in a separate environment: `gpudoctor setup {request.lower().replace(' ', '')}`."
    )


def _only(ground: TargetPlatform, capability: str) -> TargetPlatform:
    return msgspec.structs.replace(ground, capabilities=(capability,))


# -- AMD and CPU ---------------------------------------------------------------------------------------------


def on_cpu(ground: TargetPlatform, name: str, python: str | None) -> Refusal:
    """Why a framework is not installed for the CPU."""
    if BY_MODULE[name].cpu_proof is None:
        why = f"{NAMES[name]} supports only GPUs, and this machine has none that it can use."
        return Refusal(NAMES[name], why, "Use NumPy, which has the same API." if name == "cupy" else "Add a GPU.")
    found = _system(ground, name, cpu=True)
    if found:
        return found
    return Refusal(
        NAMES[name],
        f"It has no wheels for {phrase('Python {}', python) or 'this Python'}.",
        "Create an environment with Python 3.12.",
    )


def on_amd(ground: TargetPlatform, name: str) -> Refusal:
    """Why a framework is not installed for an AMD GPU."""
    request, gfx = NAMES[name], ", ".join(ground.gfx)
    if name == "jax" and set(ground.gfx) <= set(jax.jax().rocm.gfx.split()) and not rocm_fits(ground):
        own = f"ROCm {ground.rocm} is installed" if ground.rocm else "no ROCm is installed"
        why = f"JAX's plugin uses ROCm {jax.jax().rocm.rocm} from the machine, but {own}."
        return Refusal(request, why, f"Install a release {jax.jax().rocm.rocm} of ROCm first: {INSTALL}")
    no_build = f"The package index has no current build of {request} for ROCm."
    known = {
        "torch": (
            f"No build of PyTorch for ROCm has code for {gfx}, or no such build exists for this Python.",
            "Use AMD's own nightly builds (TheRock), or use the CPU (--cpu).",
        ),
        "tensorflow": (no_build, "Run AMD's container rocm/tensorflow, or use PyTorch or JAX."),
        "cupy": (
            no_build,
            "Build CuPy against the installed ROCm (CUPY_INSTALL_USE_HIP=1 pip install --no-binary cupy cupy), or use "
            "PyTorch.",
        ),
        "jax": (f"JAX's plugin for ROCm has no code for {gfx}.", "Use PyTorch, or AMD's container rocm/jax."),
        "onnxruntime": (
            no_build,
            f"Use AMD's package onnxruntime-migraphx of ROCm {rocm.newest()}, from AMD's own repository.",
        ),
    }
    why, instead = known.get(name, (no_build, "Use PyTorch, or use the CPU (--cpu)."))
    return Refusal(request, why, instead)
