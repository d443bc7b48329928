"""What messages tell of the driver: its versions, and CUDA's error numbers and names."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.knowledge.errors import cuda_error, cuda_error_named
from gpudoctor.knowledge.kernels import version
from gpudoctor.queries.driver import driver_cuda, module_version
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.tasks import cmd
from gpudoctor.tasks.placeholders import IMAGE


def driver_found(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """PyTorch's "found version 12020" is the CUDA release that the driver runs."""
    found = re.search(r"found version (\d{4,5})\)", " ".join(lines[:2]))
    if found is None:
        return NOTHING
    release = cuda_release(int(found[1]))
    details = [f"The driver that the program used supports CUDA up to {release}."]
    now = driver_cuda(facts) if facts else None
    if isinstance(now, str) and now != release:
        details.append(_other(f"the driver here supports CUDA up to {now}"))
    return Extracted(details=tuple(details))


def cuda_release(number: int) -> str:
    """CUDA writes 12.2 as 12020."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _other(what: str) -> str:
    return f"This does not match this machine now: {what}."


def cuda_number(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """PyTorch's "Error 804" is a number of CUDA's."""
    found = re.search(r"\bError (\d{1,3})[:,)]", " ".join(lines[:2]), re.I)
    error = cuda_error(int(found[1])) if found else None
    return _of_error(error.name, error.meaning, error.causes) if error else driver_found(lines, facts)


def cuda_name(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """TensorFlow, JAX and Numba write CUDA's names, or its texts."""
    text = " ".join(lines[:2])
    found = re.search(r"CUDA_ERROR_[A-Z0-9_]+", text)
    error = cuda_error_named(found[0]) if found else None
    if error is None and "(303)" in text:
        return Extracted(
            meaning="libcuda.so.1 could not be loaded: no driver is installed, or the container has no GPU access"
        )
    return _of_error(error.name, error.meaning, error.causes) if error else NOTHING


def _of_error(name: str, meaning: str, causes: str) -> Extracted:
    return Extracted(details=(f"{name} means: {meaning}." + (f" Its usual causes: {causes}." if causes else ""),))


def nvml_mismatch(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The kernel and newer nvidia-smi name the versions that do not fit."""
    text = " ".join(line.rpartition("NVRM: ")[2].strip() for line in lines[:6])
    client = re.search(r"(?:client|\)) has the version (\d+(?:\.\d+)+),", text)
    module = re.search(r"kernel module has the version (\d+(?:\.\d+)+)\.\s", text)
    library = re.search(r"NVML library version: (\d+(?:\.\d+)+)", text)
    loaded = module_version(facts) if facts else None
    details = []
    if client and module:
        details.append(f"The program's libraries had version {client[1]}, the kernel module {module[1]}.")
    elif library:
        details.append(f"The NVML library had version {library[1]}.")
    seen = module[1] if module else None
    if seen and loaded and seen != loaded:
        details.append(_other(f"the module loaded here is {loaded}"))
    return Extracted(details=tuple(details))


def container_requirement(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The image's own requirement, compared with the driver of the host."""
    found = re.search(r"unsatisfied condition: cuda\s*>=\s*(\d+\.\d+)(?=,)", lines[0], re.I)
    if found is None:
        return NOTHING
    required = f"The image requires a driver that supports CUDA {found[1]} or newer."
    now = driver_cuda(facts) if facts else None
    if not isinstance(now, str):
        return Extracted(details=(required,))
    older = version(now) < version(found[1])
    use = Fix(f"Use an image with CUDA {now} or older.", (cmd("docker", "run", "--gpus", "all", IMAGE, "nvidia-smi"),))
    return Extracted(
        details=(f"{required} The driver here supports CUDA up to {now}.",), fixes=(use,) * older, confirmed=older
    )
