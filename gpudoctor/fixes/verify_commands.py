"""One-line commands that verify a fix, run by the examined interpreter."""

from gpudoctor.facts import Extension, Facts, Python
from gpudoctor.fixes.frameworks import verify
from gpudoctor.registry import BY_MODULE
from gpudoctor.tasks import Task, filtered, query

_SHOWS = "print(torch.cuda.device_count(), torch.cuda.get_device_name(0))"


def framework_proof(python: Python, name: str | None = None) -> Task | None:
    """The command that runs a framework on the GPU: the named one, else the environment's first; None: it has none."""
    names = [name] if name else [f.name for f in python.frameworks if f.variant != "cpu"]
    return next((verify(python, BY_MODULE[n].proof) for n in names if n in BY_MODULE), None)


def cuda_proof(facts: Facts) -> Task:
    """The command that asks CUDA itself, as every framework does: "error: 0 GPUs: 1" is healthy.

    nvidia-smi asks NVML, which uses neither nvidia_uvm nor CUDA_VISIBLE_DEVICES.
    """
    code = (
        'import ctypes; c = ctypes.CDLL("libcuda.so.1"); n = ctypes.c_int(); '
        'print("error:", c.cuInit(0) or c.cuDeviceGetCount(ctypes.byref(n)), "GPUs:", n.value)'
    )
    python = next((p for p in facts.pythons if p.error is None), None)
    return verify(python or Python(path="python3"), code)


def hip_proof(facts: Facts) -> Task:
    """The command that asks HIP: with an examined PyTorch for ROCm, else with ROCm's own tool."""
    for python in facts.pythons:
        if any(f.name == "torch" and f.variant == "rocm" for f in python.frameworks):
            return verify(python, f"import torch; {_SHOWS}")
    return filtered(query("rocminfo"), query("grep", "-E", "Marketing Name|Name: +gfx"))


def extension_proof(python: Python, extension: Extension) -> Task:
    """The command that loads a compiled extension after PyTorch, whose libraries it needs in the process."""
    site = python.site_packages if isinstance(python.site_packages, str) else ""
    name = extension.path.rpartition("/")[2]
    if site and extension.path.startswith(f"{site}/") and not name.startswith("lib"):
        module = extension.path.removeprefix(f"{site}/").removesuffix(name).replace("/", ".") + name.partition(".")[0]
        return verify(python, f"import torch, {module}")
    return verify(python, f'import ctypes, torch; ctypes.CDLL("{extension.path}")')
