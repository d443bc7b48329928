"""The head of the text: the machine, the driver, the GPUs and what each framework sees, at a glance."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from gpudoctor.maybe import phrase
from gpudoctor.report.model import FrameworkEntry, GpuEntry, InstalledEntry, MachineEntry, PythonEntry, Report
from gpudoctor.report.sanitize import wrapped
from gpudoctor.targets import NAMES

WIDE = 10
NAME, BUILT = 23, 12  # columns of a framework's line
SPELLED = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
_WORDS = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", "mps": "MPS", "cpu": "CPU build"}


def header(out: Console, report: Report) -> None:
    """Print the head."""
    for label, text in rows(report):
        for line in _lines(text, out.width - WIDE):
            out.print(Text.assemble((f"{label:<{WIDE}}", "bold"), line), soft_wrap=True)
            label = ""


def _lines(text: str, width: int) -> list[str]:
    """The text wrapped; a framework's line before its last column, which stays whole."""
    first, _, last = text.rpartition("  ")
    if last.startswith("sees ") and width < len(text):
        return [*wrapped(first.rstrip(), width), last]
    return wrapped(text, width)


def rows(report: Report) -> Iterator[tuple[str, str]]:
    """The lines of the head, each with its label; one without goes on with what the one above it is about."""
    yield "gpudoctor", report.version
    yield "machine", _machine(report)
    yield "driver", _driver(report)
    yield from _gpus(report)
    yield from _installed(report.machine)
    pythons = report.pythons or ((report.python,) if report.python else ())
    for python in pythons:
        yield from _python(python, [f for f in report.frameworks if f.python == python.path])


def _machine(report: Report) -> str:
    m = report.machine
    parts = [m.distribution or m.system or "unknown system", m.kernel and f"kernel {m.kernel}", m.architecture]
    if m.container:
        parts.append(f"in a {'pod' if m.container == 'kubernetes' else 'container'} ({m.container})")
    elif m.platform not in (None, "bare"):
        parts.append({"vm": "virtual machine", "wsl": "WSL"}.get(str(m.platform), str(m.platform)))
    return ", ".join(p for p in parts if p)


def _driver(report: Report) -> str:
    m = report.machine
    if m.system == "Darwin":
        return "Metal (part of macOS)"
    parts = _nvidia(m) if m.driver or m.driver_libraries else []
    if any(gpu.vendor == "amd" and gpu.status != "no driver" for gpu in report.gpus):
        parts.append(f"amdgpu{phrase(' {}', m.amdgpu)}")
    intel = (gpu.status or "" for gpu in report.gpus if gpu.vendor == "intel")
    modules = (text.removeprefix("driver ") for text in intel if text.startswith("driver "))
    parts += dict.fromkeys(name for name in modules if name.isidentifier())  # on Windows it is a version
    return ", ".join(parts) or "not detected"


def _nvidia(m: MachineEntry) -> list[str]:
    if m.driver is None:
        parts = [f"NVIDIA libraries{phrase(' {}', m.driver_libraries)}, no module loaded"]
    else:
        differ = m.driver_libraries not in (None, m.driver)
        words = [m.driver_flavor or "", phrase("libraries {}", m.driver_libraries) if differ else ""]
        about = ", ".join(word for word in words if word)
        parts = [f"NVIDIA {m.driver}" + (f" ({about})" if about else "")]
    return [*parts, f"CUDA up to {m.driver_cuda}"] if m.driver_cuda else parts


def unlisted(status: str | None, m: MachineEntry, vendor: str) -> str:
    """What is said of a GPU that only the PCI bus shows; `m.driver` is NVIDIA's."""
    if status == "unknown":
        return "driver not asked"
    if m.container:
        return "not available in this container"
    loaded = status == "not listed" or (m.driver and vendor == "nvidia")
    return "not listed by the driver" if loaded else "not visible to any driver"


def _gpus(report: Report) -> Iterator[tuple[str, str]]:
    """Each GPU on a line; equal neighbours share one."""
    gpus = report.gpus
    if not gpus:
        yield "GPUs", "none found"
    groups: list[tuple[str, list[int]]] = []
    for gpu in gpus:
        text = _gpu(gpu, report.machine)
        if groups and groups[-1][0] == text:
            groups[-1][1].append(gpu.index)
        else:
            groups.append((text, [gpu.index]))
    for number, (text, indices) in enumerate(groups):
        which = f"{indices[0]}" if len(indices) == 1 else f"{indices[0]}-{indices[-1]}"
        yield "GPUs" if number == 0 else "", f"{which}  {text}"


def _gpu(gpu: GpuEntry, m: MachineEntry) -> str:
    parts = [gpu.name or f"{SPELLED.get(gpu.vendor, gpu.vendor)} GPU"]
    if gpu.memory:
        parts.append(f"{gpu.memory / 2**30:.0f} GiB")
    if gpu.capability:
        parts.append(f"compute capability {gpu.capability}")
    if gpu.gfx and gpu.gfx != gpu.name:
        parts.append(gpu.gfx)
    if not gpu.listed and not (gpu.status or "").startswith("driver "):
        parts.append(unlisted(gpu.status, m, gpu.vendor))
    elif gpu.status not in (None, "ok"):
        parts.append(str(gpu.status))
    return ", ".join(parts)


def _installed(m: MachineEntry) -> Iterator[tuple[str, str]]:
    """What there is outside of Python environments, a kind on a line; of what is not there, nothing."""
    kinds = (("CUDA", m.toolkits), ("ROCm", m.rocm_releases), ("cuDNN", m.cudnn), ("NCCL", m.nccl))
    for label, found in kinds:
        if found:
            yield label, ", ".join(map(_toolkit if label == "CUDA" else _release, found))


def _toolkit(one: InstalledEntry) -> str:
    marks = (
        "nvcc on PATH" if one.on_path else "no nvcc" if one.nvcc is False else "",
        "CUDA_HOME" if one.cuda_home else "",
    )
    return f"{one.version or 'version unknown'} ({', '.join(filter(None, (one.path, *marks)))})"


def _release(one: InstalledEntry) -> str:
    return f"{one.version or 'version unknown'} ({one.path})"


def _python(python: PythonEntry, frameworks: list[FrameworkEntry]) -> Iterator[tuple[str, str]]:
    found_by = python.found_by if python.found_by != "--python" else ""
    words = (python.version, python.kind, python.manager and f"managed by {python.manager}", found_by)
    about = ", ".join(p for p in words if p)
    path = "./.venv" if python.found_by.startswith("found in this directory") else python.path
    yield "Python", path + (f" ({about})" if about else "")
    columns = [
        (f"{NAMES.get(one.name, one.name)} {one.version or '(version unknown)'}", ", ".join(_parts(one)), _sees(one))
        for one in frameworks
    ]
    # What is long takes no more room than it needs.
    short = all(len(parts) <= BUILT for _, parts, _ in columns)
    wide = NAME if short else max(len(name) for name, _, _ in columns)
    for name, parts, sees in columns:
        yield "", f"{name:<{wide}}{' ' if short else '  '}{parts:<{BUILT}}  {sees}".rstrip()
    if not frameworks and python.error is None:
        yield "", "no framework found (PyTorch, TensorFlow, CuPy, JAX, ONNX Runtime)"


def _parts(framework: FrameworkEntry) -> Iterator[str]:
    """What it was built for, the libraries that it has loaded, and those that are only known to be installed."""
    yield _built(framework)
    if framework.variant == "rocm" and framework.built_for:
        yield f"HIP {framework.built_for.split('-')[0]}"
    libraries = framework.libraries or ()
    yield from (f"{one.name} {_short(one.loaded)}" for one in libraries if one.loaded)
    installed = [f"{one.name} {_short(one.installed)}" for one in libraries if one.installed and not one.loaded]
    if installed:
        yield f"installed: {', '.join(installed)}"


def _short(version: str) -> str:
    """Without the build: the wheel 9.5.1.17 of cuDNN has 9.5.1."""
    return ".".join(version.split(".")[:3])


def _built(framework: FrameworkEntry) -> str:
    word = _WORDS.get(framework.variant or "", framework.variant or "")
    release = (framework.built_for or "").split("-")[0]
    if framework.variant == "rocm":  # HIP's own number, 6.3.42134, ends in a build number
        release = ".".join(release.split(".")[:2])
    return f"{word} {release}".strip()


def _sees(framework: FrameworkEntry) -> str:
    if framework.sees is None:
        return "not importable" if framework.error else ""
    return "sees no GPU" if framework.sees == 0 else f"sees {framework.sees} GPU{'s' if framework.sees > 1 else ''}"
