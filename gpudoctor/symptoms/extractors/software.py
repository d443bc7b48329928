"""What messages tell of libraries and packages: names, versions, and which wheel brings what."""

import re
from collections.abc import Iterable, Sequence
from posixpath import normpath

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.by_message import PYTHON, library, nvcc_of, on_the_path, pip, without_library_path
from gpudoctor.knowledge import tensorflow, torch
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.sonames import library_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import Shell, cmd, code, export

_SONAME = r"(lib[\w+-]+?\.so(?:\.\d+)*)(?![\w.]|$)"  # whole: a line that is cut may end in the number


def soname(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001 - all readers are called alike
    """Which libraries are missing, and what provides them: a message that is repeated names one in each line."""
    names = list(dict.fromkeys(_missing(lines)))
    found = [_provided(name) for name in names]
    fixes = [fix for name in names for fix in library(name)]
    return Extracted(details=tuple(found), fixes=tuple(dict.fromkeys(fixes)))


def _missing(lines: Sequence[str]) -> Iterable[str]:
    """The sonames of the message; in later lines only what is reported missing there, too."""
    reported = rf"{_SONAME}(?:: cannot open| is not found|'; dlerror| is missing|: file too short)"
    first = "\n".join(lines[:2])
    match = re.search(reported, first) or re.search(_SONAME, first)
    names = [match[1]] if match else []
    names += [found[1] for line in lines[1:] if (found := re.search(reported, line))]
    return [name for name in names if not name.startswith("libonnxruntime_providers")]


def _provided(name: str) -> str:
    """What a missing library is, and which wheel has it."""
    row = library_of(name)
    if row is None:
        return f"The missing library: {name}."
    wheel, major = row.wheel, name.rpartition(".so.")[2]
    if wheel.endswith("cudnn"):
        number = f" {major}" if major[:1].isdigit() else ""
        return f"{name} is cuDNN{number}; the wheels {wheel}-cuNN provide it."
    cuda = [release for release, one in row.soname.items() if one == name]
    if not cuda:
        return f"{name} is in the wheel {wheel}."
    return f"{name} is CUDA {' and '.join(cuda)}'s (wheel {_wheel(wheel, cuda[-1])})."


def _wheel(name: str, major: str) -> str:
    """From CUDA 13 on the wheels have no -cuNN."""
    return name if int(major) >= 13 and name != "nvidia-cudnn" else f"{name}-cu{major}"


_COPIES = Shell("ldconfig -p | grep libcudnn; python -m pip list | grep -i cudnn")


def cudnn_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which cuDNN was loaded, and which was compiled against."""
    text = " ".join(lines[:3])
    found = re.search(r"Loaded runtime CuDNN library: ([\d.]+) but source was compiled with: ([\d.]+)\.\s", text, re.I)
    if found:
        return _cudnn(found[1], found[2])
    found = re.search(r"compiled\s+against \(([\d, ]+)\) but found runtime version \(([\d, ]+)\)", text)
    return _cudnn(found[2].replace(", ", "."), found[1].replace(", ", ".")) if found else NOTHING


def _cudnn(loaded: str, compiled: str) -> Extracted:
    major, minor = [*compiled.split("."), "0"][:2]
    own = without_library_path("where it is set, the cuDNN of a directory in it comes before the framework's own")
    message = "Install a cuDNN like the one that the program was compiled with; newer ones of its major work, too."
    wheel = pip(f"nvidia-cudnn-cu12>={major}.{minor},<{int(major) + 1}")
    look = Fix("If it stays: find the other copy, and remove it.", (_COPIES,))
    details = (f"cuDNN {loaded} was loaded; the program was compiled with {compiled}.",)
    return Extracted(details=details, fixes=(own, Fix(message, (wheel,), "reinstall-package"), look), decided=True)


def extension(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which file has the symbol that nobody knows."""
    found = re.search(r"(\S+\.so[\w.]*): undefined symbol: (\w+)", lines[0])
    if found is None:
        return NOTHING
    package = re.search(r"(?:site|dist)-packages/([\w.]+?)(?:/|\.cpython|\.abi3|\.so)", normpath(found[1]))
    wheel = _DISTRIBUTIONS.get(package[1], package[1].replace("_", "-")) if package else None
    name = f" of {wheel}" if wheel and wheel != "nvidia" else ""
    older = re.search(r"undefined symbol: \w+, version (lib[\w+-]+\.so[.\d]*)", lines[0])
    details = (
        (f"{found[1].rpartition('/')[2]} found a {older[1]} that is older than the one it was built with.",)
        if older
        else (f"The incompatible file is {found[1].rpartition('/')[2]}{name}.",)
    )
    if wheel is None or wheel in ("torch", "nvidia", "jaxlib", "tensorflow"):
        return Extracted(details=details)
    fixes = _rebuilt(wheel)
    return Extracted(details=details, fixes=fixes, decided=bool(fixes))


# What is imported is not always called like what is installed.
_DISTRIBUTIONS = {
    "flash_attn_2_cuda": "flash-attn", "flash_attn_3": "flash-attn-3", "amp_C": "apex", "fused_layer_norm_cuda": "apex",
    "transformer_engine_torch": "transformer-engine-torch", "vllm_flash_attn": "vllm", "_C": "",
}  # fmt: skip
# PyTorch's own index has these for each of its builds.
_FAMILY = ("torchvision", "torchaudio", "torchcodec", "xformers")


def _rebuilt(name: str) -> tuple[Fix, ...]:
    """Reinstall a package for the installed PyTorch."""
    if name in _FAMILY:
        message = f"Install torch and {name} with one command from one index, so that they fit."
        index = ("--index-url", "https://download.pytorch.org/whl/cu128")
        return (Fix(message, (pip("--force-reinstall", "torch", name, *index),), "reinstall-package"),)
    if name == "vllm":
        message = "Install vLLM into an environment of its own, with exactly the PyTorch that it pins."
        return (Fix(message, (cmd("uv", "venv", "vllm-env"), cmd("uv", "pip", "install", "-p", "vllm-env", "vllm"))),)
    if not name:
        return ()
    message = f"Compile {name} again for the installed PyTorch, or install the wheel for it from its releases page."
    options = ("--no-build-isolation", "--no-cache-dir", "--force-reinstall", "--no-deps")
    newer = Fix(f"Upgrade {name} with the PyTorch that it requires.", (pip("-U", name),), "reinstall-package")
    return Fix(message, (pip(*options, name),), "reinstall-package"), newer


def no_toolkit(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """A build that looks for a CUDA toolkit, on a machine without one."""
    looked = re.search(r"(?i)CUDA_HOME|MissingCUDA", lines[0])
    if facts is None or looked is None or known_or(facts.toolkits.nvccs, None) != ():
        return NOTHING
    return Extracted(details=("No nvcc was found on this machine.",), confirmed=True)


def nvcc_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The compiler's release, and PyTorch's."""
    text = " ".join(lines[:3])
    found = re.search(r"CUDA version \((\d+\.\d+)\) mismatches .*?PyTorch\s+\((\d+\.\d+)\)", text)
    compiled = r"CUDA version (\d+\.\d+) does not match the version torch was compiled with (\d+\.\d+)(?=[, ])"
    found = found or re.search(compiled, text)
    if found is None:
        return NOTHING
    details = (f"nvcc is from CUDA {found[1]}, PyTorch was built with CUDA {found[2]}.",)
    return Extracted(details=details, fixes=nvcc_of(found[2], facts))


def numpy_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which NumPy is installed."""
    found = re.search(r"cannot be run in\s+NumPy ([\d.]+\d)\s", " ".join(lines[:2]))
    return Extracted(details=(f"NumPy {found[1]} is installed.",)) if found else NOTHING


def glibc(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which file wants a newer library, and which library that is."""
    wanted = r"(\S+): version [`']((?:GLIBCXX|GLIBC|CXXABI)_[\d.]+)' not found \(required by ([^)]+)\)"
    found = re.search(wanted, lines[0])
    if found is None:
        return NOTHING
    details = (f"{found[3].rpartition('/')[2]} needs {found[2]}, which {found[1]} does not have.",)
    if found[2].startswith("GLIBC_"):
        return Extracted(details=details)
    command = cmd("conda", "install", "-c", "conda-forge", "libstdcxx-ng")
    newer = Fix("Install a newer libstdc++ with conda.", (command,), "reinstall-package")
    preload = Fix(
        "Load the system's libstdc++ first, where it is the newer one.",
        (export("LD_PRELOAD", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"),),
        "change-environment",
    )
    conda = "conda" in found[1] or "/envs/" in found[1] or "mamba" in found[1] or "miniforge" in found[1]
    return Extracted(details=details, fixes=(newer, preload) if conda else (newer,))


_FINAL = pattern(r"\d[\d.]*(?:\.post\d+)?(?:\+|$)")


def pip_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Whether the index has anything for this Python at all."""
    found = re.search(r"\(from versions: ([^)]*)\)", " ".join(lines[:2]))
    if found is None:
        return NOTHING
    if found[1].strip() in ("none", ""):
        return Extracted(
            details=("The index has no version at all for this Python: the Python or the index is wrong.",)
        )
    there = found[1].split(", ")
    span = f"from {there[0]} to {there[-1]}" if len(there) > 1 else there[0]
    details = (f"For this Python the index has {span}, but not the requested version.",)
    asked = re.search(r"requirement ([\w.-]+)==(\d[\w.]*)(?:\+([\w.]+))?", lines[0])
    if asked and asked[1].startswith("tensorrt") and asked[1] != "tensorrt":
        return msgspec.structs.replace(_of_nvidias_index(asked[1], asked[2]), details=details)
    if asked and asked[3] and (said := _of_other_index(asked[1], asked[2], asked[3], there)) is not NOTHING:
        return msgspec.structs.replace(said, details=details)
    final = [one for one in there if _FINAL.match(one)] or there  # pip installs no pre-release unasked (PEP 440)
    oldest, newest = final[0].partition("+")[0], final[-1].partition("+")[0]
    if asked is None or not oldest[:1].isdigit() or version(oldest) <= version(asked[2]) <= version(newest):
        return Extracted(details=details)
    said = _not_offered(asked[1], asked[2], oldest, newest, final[-1].partition("+")[2], facts)
    return msgspec.structs.replace(said, details=details)


def _of_nvidias_index(name: str, asked: str) -> Extracted:
    """A part of TensorRT, such as tensorrt-libs 8.6.1, which TensorFlow 2.14 and 2.15 require in their extra and-cuda.

    PyPI has placeholders of them; the wheels are at https://pypi.nvidia.com (tensorflow/tensorflow#62498).
    """
    meaning = f"{name} {asked} is not on PyPI but in NVIDIA's package index; TensorFlow's extra and-cuda requires it"
    index = Fix(
        "Name NVIDIA's package index, then type the command again.",
        (export("PIP_EXTRA_INDEX_URL", "https://pypi.nvidia.com"),),
    )
    newer = Fix("Take TensorFlow 2.16 or newer, whose extra needs no TensorRT.", (pip("tensorflow[and-cuda]>=2.16"),))
    return Extracted(meaning=meaning, fixes=(index, newer), decided=True)


# Packages with builds in PyTorch's package index (https://download.pytorch.org/whl/).
_OF_TORCH = ("torch", "torchvision", "torchaudio", "torchtext", "xformers", "triton")


def _of_other_index(name: str, asked: str, variant: str, there: Sequence[str]) -> Extracted:
    """A build for one CUDA or ROCm release ("2.1.2+cu118"), which PyPI never has: it is in PyTorch's package index."""
    index, release = torch.index_of_build(f"{asked}+{variant}"), torch.release(asked) if name == "torch" else None
    elsewhere = name in _OF_TORCH and index is not None and asked in there
    if index is None or not elsewhere or (release and variant not in release.wheels):
        return NOTHING
    meaning = f"{name} {asked}+{variant} is not on PyPI: builds for one CUDA or ROCm release are in PyTorch's index"
    message = (
        "Name PyTorch's package index for it, then type the command again; in a requirements file its first line does "
        f"the same: --extra-index-url {index}"
    )
    return Extracted(meaning=meaning, fixes=(Fix(message, (export("PIP_EXTRA_INDEX_URL", index),)),), decided=True)


def _not_offered(name: str, asked: str, oldest: str, newest: str, variant: str, facts: Facts | None) -> Extracted:
    """Pip lists the releases that have a wheel for this Python: where all are newer, the Python is too new for one."""
    release = torch.release(asked) if name == "torch" else None
    row = tensorflow.release(asked) if name == "tensorflow" else None
    # Pip's message leaves out the extra with which TensorFlow brings the CUDA libraries.
    extra = "[and-cuda]" if row and facts and gpus_of(facts, "nvidia") else ""
    other = newest if version(asked) > version(newest) else oldest
    message = f"Install the nearest release that this Python has, {other}, and write that where {asked} is required."
    nearest = Fix(message, () if variant else (pip(f"{name}{extra}=={other}"),))
    if version(asked) > version(newest):
        meaning = (
            f"{name} {asked} has no wheel for this Python or this system, or does not exist: {newest} is the newest"
        )
        return Extracted(meaning=meaning, fixes=(nearest,))
    pythons = release.python if release else row.pythons if row else None
    if pythons is None or (release and variant and variant not in release.wheels):
        meaning = f"{name} {asked} has no wheel for this Python, or was removed: {oldest} is the oldest that there is"
        return Extracted(meaning=meaning, fixes=(nearest,))
    (lowest, highest), title = pythons, "PyTorch" if release else "TensorFlow"
    meaning = f"this Python is too new for {title} {asked}, which has wheels for Python {lowest} to {highest}"
    python = torch.nearest_python(lowest, highest)
    venv = (
        pip("uv"),  # which brings the Python where the machine has none
        cmd(PYTHON, "-m", "uv", "venv", "--seed", "--python", python, f"{name}-env"),
        cmd("source", f"{name}-env/bin/activate"),
    )
    older = Fix(f"Use a Python that {title} {asked} has wheels for, and install there.", venv)
    return Extracted(meaning=meaning, fixes=(older, nearest), decided=True)


def jax_outdated(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which version JAX met, and which it wants at least."""
    text = " ".join(lines[:6])
    name = re.search(r"Outdated (\w+) installation", text, re.I)
    met = re.search(r"Installed version: (\d+)", text)
    least = re.search(r"Minimum supported: (\d+)", text)
    if not (name and met and least):
        return NOTHING
    details = (f"JAX found {name[1]} {met[1]} but needs {least[1]} or newer.",)
    return Extracted(details=details, fixes=(without_library_path("a directory in it has the older library"),))


def cudnn_parts(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which cuDNN a program looks for by name: CTranslate2 4.4 and older for 8, newer ones for 9."""
    found = soname(lines, facts)
    name = re.search(r"libcudnn\w*\.so\.(\d+)\b", lines[0])
    if name is None:
        return found
    if int(name[1]) >= 9:
        wheels = pip(f"nvidia-cudnn-cu12=={name[1]}.*", "nvidia-cublas-cu12")
        message = f"Install cuDNN {name[1]}, and let the loader find it."
        return Extracted(
            details=found.details,
            fixes=(Fix(message, (wheels, on_the_path("cublas", "cudnn")), "reinstall-package"),),
            decided=True,
        )
    newer = Fix(
        "Upgrade the program to a release for cuDNN 9, which PyTorch brings, too (CTranslate2: 4.5).",
        (pip("-U", "ctranslate2>=4.5", "faster-whisper"),),
        "reinstall-package",
    )
    old = Fix(
        f"Install cuDNN {name[1]} for it, in an environment without PyTorch, and let the loader find it.",
        (pip(f"nvidia-cudnn-cu12=={name[1]}.*", "nvidia-cublas-cu12"), on_the_path("cublas", "cudnn")),
        "reinstall-package",
    )
    return Extracted(details=found.details, fixes=(newer, old), decided=True)


def _local_rank(script: str) -> Extracted:
    """The launcher passes the rank with a hyphen since PyTorch 2.0, and an older script takes an underscore.

    https://docs.pytorch.org/docs/stable/elastic/run.html, on the transition from torch.distributed.launch.
    """
    meaning = (
        "torch.distributed.launch passes --local-rank since PyTorch 2.0, and the script takes --local_rank; the GPU is "
        "not involved"
    )
    edit = cmd("sed", "-i.bak", r"s/\(['\"]\)--local_rank\1/\1--local-rank\1, &/", script)
    undo = (cmd("mv", f"{script}.bak", script),)
    both = Fix(f"Let {script} take both names.", (edit,), undo=undo)
    message = (
        "Or start it with torchrun, which passes no such argument, and read the rank in the program from "
        'os.environ["LOCAL_RANK"].'
    )
    return Extracted(meaning=meaning, fixes=(both, Fix(message)), decided=True)


def arguments(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which program refused which arguments."""
    found = re.search(r"([\w.-]+)(?: [\w-]+)?: error: (.{1,200})", lines[0])
    if found and "unrecognized arguments" in found[2] and "--local-rank" in found[2] and found[1].endswith(".py"):
        return _local_rank(found[1])
    return Extracted(details=(f"{found[1]}: {found[2].strip()}.",)) if found else NOTHING


def missing_path(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which path is missing."""
    found = re.search(r"missing paths? \[?'([^']{1,200})'", " ".join(lines[:2]))
    return Extracted(details=(f"The missing path: {found[1]}.",)) if found else NOTHING


# What `pip install flash-attn` brings, https://github.com/Dao-AILab/flash-attention: setup.py; FlashAttention 3 is in
# its directory hopper, with a setup.py of its own.
_FLASH_2, _FLASH_3 = ("flash_attn", "flash_attn_2_cuda"), ("flash_attn_3", "flash_attn_interface")
_HOPPER = "git+https://github.com/Dao-AILab/flash-attention#subdirectory=hopper"


def flash_attention(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which of the packages of FlashAttention is missing: the one does not have the other's modules."""
    found = re.search(r"No module named '([\w.]+)'", lines[0])
    top = found[1].partition(".")[0] if found else _FLASH_2[0]
    if top in _FLASH_2:
        return NOTHING
    fixes = [
        Fix(
            "Use PyTorch's own attention.",
            (code('AutoModelForCausalLM.from_pretrained(name, attn_implementation="sdpa")'),),
        )
    ]
    if top in _FLASH_3:
        message = "Install FlashAttention 3, which compiles for GPUs of compute capability 9.0 (H100, H200)."
        fixes.append(Fix(message, (pip("--no-build-isolation", _HOPPER),)))
    return Extracted(
        meaning=f"the module {top} is not installed in this Python",
        details=(f"{top} is not in the package flash-attn (FlashAttention 2): installing that does not bring it.",),
        fixes=tuple(fixes),
        advice="Nothing but the request for this attention needs it",
        decided=True,
    )
