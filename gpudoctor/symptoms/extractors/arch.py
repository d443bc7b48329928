"""What messages tell of compute capabilities: the GPU's, and those that a program has code for."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.by_message import PYTHON, nvcc_for, pip, ptxas_for, torch_for_gpu
from gpudoctor.fixes.torch_build import driver_cuda
from gpudoctor.knowledge import rocm, torch
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.advice import torches
from gpudoctor.queries.capability import compiled_for, covers, side, sm
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import Shell, cmd, export
from gpudoctor.tasks.placeholders import PACKAGE

# What no build of PyTorch has code for can only be compiled, or run elsewhere.
_NO_BUILD = Fix(
    "No PyTorch wheel has code for this GPU: run on the CPU, or build PyTorch from source for it.",
    (export("CUDA_VISIBLE_DEVICES", ""),),
)
# Consumer cards whose names say what they are: https://developer.nvidia.com/cuda-gpus
_NAMES = (
    (r"rtx\s*(pro\s*\d|50[5-9]0)", "12.0"), (r"\bgb10\b|dgx spark", "12.1"), (r"\bb[23]00\b", "10.0"),
    (r"gtx\s*10[5-8]0|\bp(4|40)\b|titan xp", "6.1"), (r"\bp100\b", "6.0"), (r"\bv100\b|titan v\b", "7.0"),
    (r"gtx\s*9[5-8]0|\bm(40|60)\b", "5.2"), (r"\bk80\b", "3.7"),
)  # fmt: skip
_NO_CODE = re.compile(r"no kernel image|no binary for gpu|no_?kernel_?image|no_binary_for_gpu")

# A PyTorch wheel's is in torch/lib.
_SYSTEM_BLAS = re.compile(
    r"Cannot read (/(?:opt/rocm|usr/lib)[\w./-]*/rocblas/library)/\S+ .{0,60}for GPU arch ?: ?(gfx[0-9a-f]{3,4})\b"
)


def no_kernel(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which GPU has no code, where the lines after the message name it."""
    text = " ".join(lines).lower()
    capability = next((number for name, number in _NAMES if re.search(name, text)), None)
    if capability:
        return _fits(capability, facts)
    here = {gpu.capability for gpu in gpus_of(facts, "nvidia")} if facts and _NO_CODE.search(text) else set()
    own = here.pop() if len(here) == 1 else None
    return _fits_here(own, facts) if facts and isinstance(own, str) else NOTHING


def _fits_here(capability: str, facts: Facts) -> Extracted:
    """The PyTorch build for the GPU of this machine, where the installed one lacks its code; and its extensions."""
    install = () if _has_code(capability, facts) else torch_for_gpu(capability, driver_cuda(facts)) or (_NO_BUILD,)
    alone = "PyTorch has code for this GPU: a" if not install else "If PyTorch itself computes: a"
    options = ("--no-build-isolation", "--no-cache-dir", "--force-reinstall", "--no-deps")
    build = Fix(
        f"{alone} compiled extension lacks the code; build it for compute capability {capability}.",
        (export("TORCH_CUDA_ARCH_LIST", capability), cmd(PYTHON, "-m", "pip", "install", *options, PACKAGE)),
    )
    details = (f"The GPU of this machine has compute capability {capability}.",)
    return Extracted(details=details, fixes=(*install, build), decided=True)


def _has_code(capability: str, facts: Facts) -> bool:
    """Whether it is known of each PyTorch here that it has code for a GPU."""
    found = [on.framework for on in torches(facts)]
    try:
        archs = [compiled_for(one.live.archs if one.live else (), one.archs, one.kernels) for one in found]
    except UnknownFactError:
        return False
    return bool(archs) and all(covers(some, capability) is not None for some in archs)


def _fits(capability: str, facts: Facts | None, details: tuple[str, ...] = ()) -> Extracted:
    """The PyTorch build for a GPU, and for this machine's driver where the GPU may be this machine's."""
    here = facts is not None and not _elsewhere(capability, facts)
    fixes = torch_for_gpu(capability, driver_cuda(facts) if here and facts else None)
    details = details or (f"The GPU has compute capability {capability}.",)
    return Extracted(details=(*details, *_elsewhere(capability, facts)), fixes=fixes or (_NO_BUILD,), decided=True)


def torch_arch(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """PyTorch's warning in its three forms: what the GPU is, and what the build was made for."""
    text = " ".join(lines)
    capability, archs = _capability(text), _archs(text)
    if capability is None:
        return NOTHING
    if not archs:
        return _fits(capability, facts)
    if covers(archs, capability):
        return Extracted(
            harmless=True, meaning=f"PyTorch's code for its generation runs on compute capability {capability}"
        )
    where = side(archs, capability)
    end = "not among them" if where == "between" else f"{where} than this build"
    listed = f"{archs[0]} to {archs[1]}" if _is_range(text) else ", ".join(archs)
    built = f"PyTorch was built for {listed}: the GPU is {end}."
    return _fits(capability, facts, (f"The GPU has compute capability {capability}; {built}",))


def compiler_arch(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which architecture a compiler did not know, and which toolkit knows it: nvcc's, or ptxas's alone."""
    found = re.search(r"(?:compute_|sm_)(\d{2,3})[a-z]?\W|(?:CC|support) (\d+\.\d)", lines[0])
    if found is None:
        return NOTHING
    digits = found[1] or found[2]
    capability = digits if "." in digits else f"{digits[:-1]}.{digits[-1]}"
    known = toolkits_of(capability)
    since = f" CUDA {known[0]} is the first to know it{f', {known[1]} the last' if known[1] else ''}." if known else ""
    details = (f"It was compiled for compute capability {capability}.{since}", *_elsewhere(capability, facts))
    by_nvcc = nvcc_for(capability, facts)
    fixes = (*ptxas_for(capability), *by_nvcc) if "ptxas" in lines[0].lower() else by_nvcc
    return Extracted(details=details, fixes=(*fixes, *_dropped(capability, known)))


_OWN = "import torch; print('%d.%d' % torch.cuda.get_device_capability())"


def _dropped(capability: str, known: tuple[str, str | None] | None) -> tuple[Fix, ...]:
    """Leave a GPU out for which newer toolkits do not compile."""
    if known is None or known[1] is None:
        return ()
    message = f"If no such GPU is there: compile for the GPU at hand only, so that {sm(capability)} is not in the list."
    own = Shell(f'export TORCH_CUDA_ARCH_LIST=$(python -c "{_OWN}")')
    return (
        Fix(message, (own, cmd("cmake", "-B", "build", "-DCMAKE_CUDA_ARCHITECTURES=native")), "change-environment"),
    )


def _capability(text: str) -> str | None:
    found = re.search(r"with CUDA capability sm_(\d{2,3}) ", text)
    if found:
        return f"{found[1][:-1]}.{found[1][-1]}"
    found = re.search(r"(?:cuda capability|compute capability \(CC\)) (\d+\.\d)\b", text)
    return found[1] if found else None


def _archs(text: str) -> list[str]:
    """What the build has code for: a list of names, a table of capabilities, or its least and its greatest."""
    listed = re.search(r"supports CUDA capabilities ((?:(?:sm|compute)_\w+[ ,]*)+)\.", text)
    if listed:
        return listed[1].replace(",", " ").split()
    _, table, after = text.partition("hardware CCs it supports")
    if table:
        after = re.sub(r"which supports hardware CC \S+( except \{[^}]*\})?", "", after.partition("No published")[0])
        row = re.match(r"[\s:]*((?:-? *\d{1,2}\.\d[ ,]*)+)", after)
        return [sm(one) for one in re.findall(r"\d{1,2}\.\d", row[1])] if row else []
    both = _is_range(text)
    return [sm(both[1]), sm(both[2])] if both else []


def _is_range(text: str) -> re.Match[str] | None:
    return re.search(r"is\s+\((\d+\.\d)\) - \((\d+\.\d)\)", text)


def _elsewhere(capability: str, facts: Facts | None) -> tuple[str, ...]:
    """A remark where no GPU of the machine is of this kind."""
    gpus = facts.gpus if facts and isinstance(facts.gpus, tuple) else ()
    there = {g.capability for g in gpus if isinstance(g.capability, str)}
    if not there or capability in there:
        return ()
    return (f"No GPU of this machine has compute capability {capability}: the message is from another machine.",)


def amd_arch(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """Which AMD target has no code, and the override or the build that has it."""
    text = "\n".join(lines)
    found = re.search(r"\b(gfx[0-9a-f]{3,4})\b", text)
    if found is None:
        return NOTHING
    if system := _SYSTEM_BLAS.search(text):
        return _without_blas(system[2], system[1], text)
    gfx, override, choice = found[1], rocm.override_for(found[1]), torch.rocm_wheel_for(found[1])
    fixes = []
    if override:
        message = f"Let {gfx} run the code of {rocm.gfx_of_override(override)}, which has the same instruction set."
        fixes.append(Fix(message, (export("HSA_OVERRIDE_GFX_VERSION", override),), "change-environment"))
    if choice:
        message = f"Install PyTorch's build for {choice.variant.replace('rocm', 'ROCm ')}, which has code for {gfx}."
        fixes.append(
            Fix(message, (pip("--force-reinstall", "torch", "--index-url", choice.index),), "reinstall-package")
        )
    details = (f"The GPU is a {gfx}: the program was compiled without code for it.",)
    return Extracted(details=details, fixes=tuple(fixes), decided=bool(choice))


def _without_blas(gfx: str, folder: str, text: str) -> Extracted:
    """Which sibling's kernels, or which release of ROCm, help a program that uses the system's rocBLAS."""
    there = set(re.findall(r"TensileLibrary_lazy_(gfx\w+)\.dat", text))
    override, last, known_in = rocm.override_for(gfx), rocm.last_with_blas(gfx), rocm.releases_for(gfx)
    sibling = rocm.gfx_of_override(override) if override else None
    shown = Shell(f"ls {folder} | grep -o 'gfx[0-9a-f]*' | sort -u", lookup=True)
    fixes = []
    if override and (not there or sibling in there):
        message = f"Let {gfx} run the kernels of {sibling}, which has the same instruction set."
        fixes.append(Fix(message, (export("HSA_OVERRIDE_GFX_VERSION", override),), "change-environment"))
    if last:
        message = f"Install ROCm {last}, the last release whose rocBLAS has kernels for {gfx}. {rocm.guide(last)}"
        fixes.append(Fix(message, (shown,), "reinstall-package"))
    elif known_in:
        message = f"Install ROCm {known_in[0]} or newer, whose rocBLAS has kernels for {gfx}."
        fixes.append(Fix(message, (shown,), "reinstall-package"))
    detail = f"The GPU is a {gfx}, and the rocBLAS in {folder} has no kernels for it."
    return Extracted(
        details=(detail,),
        meaning="the rocBLAS of the installed ROCm has no kernels for this GPU",
        fixes=tuple(fixes),
        decided=bool(fixes),
    )
