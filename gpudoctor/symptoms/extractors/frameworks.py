"""What messages tell of frameworks: releases of CUDA that a driver, a wheel or a compiler is for."""

import re
from collections.abc import Sequence

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes import frameworks
from gpudoctor.fixes.by_message import (
    PYTHON,
    assumed_cuda,
    driver_for,
    library,
    pip,
    torch_for_driver,
    torch_for_gpu,
    without_library_path,
)
from gpudoctor.fixes.notebook_kernels import register
from gpudoctor.fixes.python import conda_of, install
from gpudoctor.fixes.torch_build import driver_cuda
from gpudoctor.knowledge import drivers, onnxruntime, tensorflow
from gpudoctor.knowledge.cuda_extensions import cuda_extensions
from gpudoctor.knowledge.sonames import majors_of
from gpudoctor.knowledge.toolkits import toolkits
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import phrase
from gpudoctor.parsers.metadata import normalise
from gpudoctor.queries.packages import answered
from gpudoctor.registry import BY_MODULE
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.symptoms.extractors.absent_packages import IN_BUILD
from gpudoctor.symptoms.extractors.driver import cuda_number, cuda_release, driver_found
from gpudoctor.symptoms.extractors.software import soname
from gpudoctor.targets import gpus_of, torches
from gpudoctor.tasks import Placeholder, Shell, cmd, code, export, query
from gpudoctor.tasks.placeholders import PACKAGE

# pip's words on the package that it could not build.
_FAILED = pattern(r"Failed to build '?([A-Za-z0-9][\w.-]*)")
_ENV = Placeholder("YOUR_ENV", "the directory of the environment in which it is False")


def torch_driver(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which CUDA release the driver runs: the PyTorch build for it, and the driver for what is installed."""
    found = re.search(r"found version (\d{4,5})\)", " ".join(lines[:2]))
    if found is None:
        return cuda_number(lines, facts)
    runs, built = cuda_release(int(found[1])), _built(lines)
    details = driver_found(lines, facts).details + ((f"PyTorch was built for CUDA {built}.",) if built else ())
    return Extracted(
        details=details, fixes=(*torch_for_driver(runs), *driver_for(built or assumed_cuda(), facts)), decided=True
    )


def _built(lines: Sequence[str]) -> str | None:
    """The CUDA release of the PyTorch that wrote the message, where it or a line after it says so."""
    text = " ".join(lines)
    found = re.search(r"\+cu(\d{2})(\d)\b", text) or re.search(r"built (?:for|with) (?:CUDA )?(\d\d)\.(\d)\b", text)
    return f"{found[1]}.{found[2]}" if found else None


def missing_framework(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """A framework that no checked Python has: the build for this machine, chosen as checks and `setup` choose it."""
    found = re.search(r"No module named '(\w+)'|\b(\w+) is not installed", " ".join(lines[:1]), re.I)
    one = BY_MODULE.get((found[1] or found[2]).lower().removesuffix("lib")) if found else None
    checked = answered(facts)
    if facts is not None and checked and one is not None and IN_BUILD.search(" ".join(lines[1:])):
        return _isolated(one.module, one.title, checked, facts, lines)
    if facts is None or one is None or not checked:
        return NOTHING
    if there := next((p for p in checked if any(f.name == one.module for f in p.frameworks)), None):
        return _notebook(one.module, one.title, there)
    here = [p for p in checked if p.externally_managed is not True]
    # TensorFlow brings CUDA libraries of its own releases in place of those that another framework pins.
    alone = one.module != "tensorflow" or not any(p.frameworks for p in here[:1])
    fixes = [fix for python in here[:1] if alone for fix in frameworks.install_framework(facts, python, one.module)[:1]]
    planned = f"Plan a new environment with the {one.title} that fits this machine; --run creates it."
    fixes.append(Fix(planned, (cmd("gpudoctor", "setup", one.area),)))
    if here and one.module == "torch":
        build = install(here[0], PACKAGE.name, options=("--no-build-isolation",))
        build = msgspec.structs.replace(build, placeholders=(PACKAGE,), packages=None)  # nothing to resolve yet
        message = (
            "If the message comes while pip builds a package (flash-attn, apex, deepspeed): install PyTorch first, "
        )
        fixes.append(Fix(f"{message}then let the build see it.", (build,)))
    missing = f"{one.title} is not installed in {' or '.join(python.path for python in checked)}"
    return Extracted(meaning=missing, fixes=tuple(fixes), decided=True)


def numba_compiler(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Numba without a compiler: one of the driver's CUDA release, since the driver takes no newer one's PTX."""
    checked = answered(facts)
    cuda = driver_cuda(facts) if facts and re.search("(?i)nvvm", lines[0]) else None
    if cuda is None or len(checked) != 1 or conda_of(checked[0]):
        return NOTHING
    ours = cuda.partition(".")[0]
    newest = [one for one in toolkits().toolkit.releases if one.partition(".")[0] == ours][-1:]
    if ours != "12" or [cuda] == newest:  # the wheels of later majors have other names, and need no pin here
        return NOTHING
    pins = [f"nvidia-cuda-{part}-cu{ours}=={cuda}.*" for part in ("nvcc", "nvrtc")]
    message = f"Install Numba's CUDA target, with the compiler of the driver's CUDA release, {cuda}."
    task = install(checked[0], f"numba-cuda[cu{ours}]", *pins)
    return Extracted(fixes=(Fix(message, (task,), "reinstall-package"),), decided=True)


def _notebook(module: str, title: str, python: Python) -> Extracted:
    """The framework is in the checked Python, and a notebook's kernel starts another one, which has none."""
    others = [one for one in python.notebook_kernels if one.exists and module not in one.frameworks]
    if not others:
        return NOTHING
    kernel = others[0]
    meaning = (
        f'{title} is installed in {python.path}, and a notebook with the kernel "{kernel.title or kernel.name}" '
        f"({kernel.name}) runs {kernel.python}, which has no {title}"
    )
    more = tuple(
        f'So does one with the kernel "{one.title or one.name}" ({one.name}): {one.python}.' for one in others[1:]
    )
    fixes = tuple(register(python, one) for one in others)
    return Extracted(meaning=meaning, details=more, fixes=fixes, decided=True, confirmed=True)


def _isolated(module: str, title: str, checked: Sequence[Python], facts: Facts, lines: Sequence[str]) -> Extracted:
    """The environment in which pip or uv builds a package has only what the package says that its build needs."""
    owner = next((p for p in checked if any(f.name == module for f in p.frameworks)), None)
    here = owner or checked[0]
    bare = owner is None and module == "torch" and here.externally_managed is not True
    fixes = [*frameworks.install_framework(facts, here, module)[:1]] if bare else []
    build = install(here, PACKAGE.name, options=("--no-build-isolation",))
    built = _FAILED.search(" ".join(lines))
    variable = cuda_extensions().without_nvcc.get(normalise(built[1])) if built and owner else None
    # Its setup asks for nvcc before it looks for a ready-made wheel.
    env = ((variable, "TRUE"),) if variable and facts.toolkits.home.nvcc is None else ()
    build = msgspec.structs.replace(
        build, env=(*build.env, *env), placeholders=(PACKAGE,), packages=None
    )  # nothing to resolve yet
    first = "" if owner else f" Install {title} first."
    message = f"Let the build see the {title} of the environment; what else it needs (setuptools) has to be there."
    if env:
        message += " The variable makes it take the wheel of its releases page, which needs no nvcc: none is here."
    fixes.append(Fix(f"{message}{first}", (build,), "reinstall-package"))
    meaning = (
        f"a package is built in an environment of its own (build isolation), which has no {title}: whether it is "
        "installed here does not count"
    )
    return Extracted(meaning=meaning, fixes=tuple(fixes), decided=True, rules_out=("python.half-removed",))


def cuda_build(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """The CUDA build of PyTorch for this machine's GPU and driver, where they are known."""
    capability = frameworks.capability_of(facts) if facts else None
    if facts is None or capability is None or "with" not in lines[0]:
        return NOTHING
    return Extracted(fixes=torch_for_gpu(capability, driver_cuda(facts)))


def ptx_versions(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which CUDA release wrote the PTX, and which one reads it: the driver, or a ptxas that was found on PATH."""
    text = " ".join(lines[:2])
    found = re.search(r"Unsupported \.version (\d\.\d); current version is '(\d\.\d)'", text)
    by_driver = re.search(r"ptxas application ptx input", text) is not None
    if found is None:
        return NOTHING
    wrote, reads = drivers.cuda_of_ptx(found[1]), drivers.cuda_of_ptx(found[2])
    if wrote is None or reads is None:
        return NOTHING
    written = f"PTX {found[1]} is CUDA {wrote}'s"
    if by_driver:
        details = f"{written}; the driver compiles PTX up to {found[2]}, of CUDA {reads}."
        return Extracted(details=(details,), fixes=(*_older_compiler(reads), *driver_for(wrote, facts)), decided=True)
    details = f"{written}; the ptxas that was run is of CUDA {reads} and reads PTX up to {found[2]}."
    meaning = "an older ptxas is found before the framework's own: the driver is not the reason"
    return Extracted(details=(details,), meaning=meaning, fixes=_newer_ptxas(wrote), decided=True)


def _older_compiler(cuda: str) -> tuple[Fix, ...]:
    """Compile with the release that the driver reads."""
    wheels = [f"nvidia-cuda-{part}-cu12=={cuda}.*" for part in ("nvcc", "nvrtc")]
    message = f"Compile with CUDA {cuda}, which the driver reads (Numba, CuPy): its compilers as wheels."
    own = Fix(message, (pip(*wheels),), "reinstall-package") if cuda.startswith("12.") else None
    link = Fix(
        "With Numba: link with nvJitLink, which does not depend on the driver's release.",
        (pip("pynvjitlink-cu12"), export("NUMBA_CUDA_ENABLE_PYNVJITLINK", "1")),
        "reinstall-package",
    )
    return (own, link) if own else (link,)


def _newer_ptxas(cuda: str) -> tuple[Fix, ...]:
    """Let the framework find a ptxas that reads its PTX."""
    message = "Remove the old toolkit's bin directory from PATH; the first command lists each ptxas, the first is used."
    clean = Shell("export PATH=$(echo \"$PATH\" | tr ':' '\\n' | grep -v cuda | paste -sd:)")
    path = Fix(message, (query("which", "-a", "ptxas"), clean), "change-environment")
    major = cuda.partition(".")[0]
    wheel = "nvidia-cuda-nvcc-cu12" if major == "12" else "nvidia-cuda-nvcc"
    newer = f"Install a ptxas of CUDA {cuda} or newer as a wheel, which JAX and TensorFlow find first."
    return path, Fix(newer, (pip("-U", f"{wheel}>={cuda}"),), "reinstall-package")


def onnxruntime_library(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which CUDA library ONNX Runtime misses: its number says for which CUDA the package was built."""
    found = soname(lines, facts)
    text = " ".join(lines[:2])
    name = re.search(r"(lib(?:cu|nv)[\w+-]+\.so(?:\.\d+)+)", text)
    majors = majors_of(name[1]) if name else ()
    if len(majors) != 1:
        return Extracted(details=found.details)
    (major,) = majors
    bound = onnxruntime.newest_for(int(major))
    details = (*found.details, f"This ONNX Runtime was built for CUDA {major}.")
    if int(major) < 12:
        message = f"Install an ONNX Runtime for CUDA 12, with its CUDA libraries: CUDA {major} is no longer built."
        return Extracted(
            details=details, fixes=(_onnxruntime(message, onnxruntime.newest_for(12) or ""),), decided=True
        )
    message = f"Install the CUDA {major} libraries with ONNX Runtime's extras, and load them before the first session."
    return Extracted(
        details=details, fixes=(_onnxruntime(message, bound or ""), *library(name[1] if name else "")), decided=True
    )


def _onnxruntime(message: str, bound: str) -> Fix:
    return Fix(
        message,
        (pip("-U", f"onnxruntime-gpu[cuda,cudnn]{bound}"), code("onnxruntime.preload_dlls()")),
        "reinstall-package",
    )


def torch_pair(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """The PyTorch that a package was built for, and the one that is installed: "built for X (you have Y)"."""
    text = " ".join(lines)
    found = re.search(r"PyTorch (\d+\.\d+\.\d+\S*) with CUDA (\S+) \(you have (\d+\.\d+\.\d+[\w.+]*)\)", text)
    found = found or re.search(r"PyTorch (\d+\.\d+\.\d+)\+(\S+) .*?\(you have (\d+\.\d+\.\d+[\w.+]*)\)", text)
    if found is None:
        return NOTHING
    there = found[3]
    details = (f"xformers was built for PyTorch {found[1]}; PyTorch {there} is installed.",)
    if "+cpu" in there:
        meaning = "PyTorch is a CPU-only build, so that no kernel of xformers can run"
        release = there.partition("+")[0]
        message = f"Install the CUDA build of PyTorch {release}, with the xformers that belongs to it."
        command = pip("--force-reinstall", f"torch=={release}", "xformers", "--index-url", _index(found[1]))
        return Extracted(
            details=details, meaning=meaning, fixes=(Fix(message, (command,), "reinstall-package"),), decided=True
        )
    release = there.partition("+")[0]
    message = f"Install the xformers that was built for PyTorch {release}: pip selects it, if both are named."
    own = Fix(message, (pip(f"torch=={release}", "xformers", "--index-url", _index(there)),), "reinstall-package")
    command = pip("-U", "torch", "xformers", "--index-url", "https://download.pytorch.org/whl/cu128")
    newer = Fix("Install the newest xformers with the PyTorch that it requires.", (command,), "reinstall-package")
    return Extracted(details=details, fixes=(own, newer), decided=True)


def _index(build: str) -> str:
    """PyTorch's index of a build ("2.7.1+cu126"); the usual one of CUDA 12 where it names none."""
    variant = build.partition("+")[2]
    return f"https://download.pytorch.org/whl/{variant if re.fullmatch(r'cu[0-9]+', variant) else 'cu128'}"


def cuda_libraries(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """TensorFlow: the extra and-cuda has the libraries of CUDA 12; older releases looked for the system's CUDA 11."""
    found = soname(lines, facts)
    majors = {major for line in found.details for major in re.findall(r"CUDA (\d+)(?: and \d+)?'s", line)}
    if not majors or max(map(int, majors)) >= 12:
        return Extracted(details=found.details)
    fits = tensorflow.release_for(None, None, None)
    bound = f"=={fits.version}.*" if fits else ""
    newer = Fix(
        "Install a TensorFlow that brings its own CUDA libraries: this one is older than 2.14 and looks for CUDA 11.",
        (pip("-U", f"tensorflow[and-cuda]{bound}"),),
        "reinstall-package",
    )
    return Extracted(details=found.details, fixes=(newer,))


def jax_library(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which library JAX could not load."""
    found = re.search(r"Unable to load (cu\w+)|The (cu\w+) library was not found", " ".join(lines[:2]), re.I)
    if found is None:
        return NOTHING
    own = without_library_path("JAX's wheels bring CUDA, and a toolkit's directory in it comes before them")
    return Extracted(details=(f"The library that JAX could not load: {found[1] or found[2]}.",), fixes=(own,))


def cupy_library(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Which CUDA major the installed CuPy is for: the library that it misses is of it."""
    details = soname(lines, facts).details
    found = re.search(r"\.so\.(1[123])\b", " ".join(lines[:2]))
    if found is None:
        return Extracted(details=details)
    old = int(found[1]) < 12
    spec = f"cupy-cuda{12 if old else found[1]}x[ctk]"
    libraries = Fix("Install CuPy's CUDA libraries with it, by its extra.", (pip("-U", spec),), "reinstall-package")
    if not old:
        return Extracted(details=details, fixes=(libraries,))
    message = "Install the CuPy for CUDA 12 in place of this one, which is for CUDA 11, with its CUDA libraries."
    remove = cmd(PYTHON, "-m", "pip", "uninstall", "-y", "cupy", "cupy-cuda11x", "cupy-cuda111", "cupy-cuda110")
    fix = Fix(message, (remove, pip(spec)), "reinstall-package")
    return Extracted(details=details, fixes=(fix, *library(f"libnvrtc.so.{found[1]}")), decided=True)


def asked_available(lines: Sequence[str], facts: Facts | None) -> Extracted:
    """Whether `torch.cuda.is_available()` is True, below the prompt or on this machine: then nothing is wrong in it."""
    shown = lines[1].strip() if lines[0].lstrip().startswith(">>>") and len(lines) > 1 else ""
    if shown == "True":
        return Extracted(harmless=True, meaning="PyTorch has a GPU")
    lives = [one.framework.live for _, one in torches(facts)] if facts else []
    counts = [live.count for live in lives if live is not None and live.available is True]
    if facts is None or not lives or len(counts) < len(lives):
        return NOTHING
    names = list(dict.fromkeys(gpu.name for gpu in gpus_of(facts) if isinstance(gpu.name, str)))
    number = phrase("{} GPU", counts[0]) + "s" * (counts[0] != 1)
    seen = ": ".join(part for part in (number, ", ".join(names)) if part)
    return Extracted(
        meaning=f"here torch.cuda.is_available() is True ({seen})",
        fixes=(
            Fix(
                "If it is False in another environment: check that one.", (cmd("gpudoctor", "check", "--python", _ENV),)
            ),
            Fix(
                "If the program still computes on the CPU: move the model and its data to the GPU.",
                (code('model.to("cuda"); batch = batch.to("cuda")'),),
            ),
        ),
        decided=True,
    )


def jax_plugin(lines: Sequence[str], facts: Facts | None) -> Extracted:  # noqa: ARG001
    """Which plugin does not fit which jaxlib: a plugin is released with each jaxlib."""
    found = re.search(
        r"plugin (jax[\w-]+?)[_-]plugin version ([\w.]+) is installed, but it is not compatible with the installed "
        r"jaxlib version (\d[\w.]*\w),",
        " ".join(lines[:2]),
    )
    if found is None:
        return NOTHING
    name, plugin, lib = found[1].replace("_", "-"), found[2], found[3]
    details = (f"{name}-plugin has version {plugin}, jaxlib {lib}: JAX skips the plugin and computes on the CPU.",)
    message = f"Install the plugin in jaxlib's version, {lib}."
    command = pip(f"{name}-plugin=={lib}", f"{name}-pjrt=={lib}")
    return Extracted(details=details, fixes=(Fix(message, (command,), "reinstall-package"),))
