"""How ONNX Runtime's CUDA provider finds the libraries that lie in wheels: it has no search path to them."""

from gpudoctor.facts import Facts, Python
from gpudoctor.fixes.frameworks import onnxruntime_major
from gpudoctor.knowledge import onnxruntime
from gpudoctor.maybe import text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.tasks import Tasks, export

# The wheels with what the provider opens (NVRTC from 1.22 on), less "nvidia-" and the major; those of CUDA 13 but
# cuDNN's share a directory.
WHEELS = ("cublas", "cuda-nvrtc", "cuda-runtime", "cudnn", "cufft", "curand")


def finding_wheels(facts: Facts, python: Python) -> tuple[str, Tasks]:
    """How the release that `onnxruntime_spec` names finds its wheels, as a sentence with a blank before it, and tasks.

    Releases for CUDA 11 have no extras that bring wheels.
    """
    major = onnxruntime_major(facts, python)
    if not onnxruntime.extras_for(major):
        return "", ()
    if one_of(python, "torch"):
        return " Then let the program import torch before onnxruntime, which loads the same libraries.", ()
    return name_directories(python, major, next(r.first for r in reversed(onnxruntime.onnxruntime().row) if r.extras))


def name_directories(python: Python, cuda: int, version: str) -> tuple[str, Tasks]:
    """Have the loader search the wheels, and when that is not needed, as a sentence with a blank before it.

    Nothing where PyTorch is installed, which loads the same libraries in a program that imports it first.

    Args:
        python: the environment.
        cuda: the CUDA major of the wheels.
        version: of ONNX Runtime; "": not known.
    """
    site = text_of(python.site_packages)
    if not site or one_of(python, "torch"):
        return "", ()
    folders = (f"cu{cuda}" if cuda >= 13 and one != "cudnn" else one.replace("-", "_") for one in WHEELS)
    path = ":".join(f"{site}/nvidia/{folder}/lib" for folder in dict.fromkeys(folders))
    able = version[:1].isdigit() and onnxruntime.can_preload(version)
    loads = "calls onnxruntime.preload_dlls()" if able else "imports torch first"
    message = f" Then name their directories where the program is started, unless it {loads}."
    return message, (export("LD_LIBRARY_PATH", path, "before"),)
