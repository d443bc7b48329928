"""The head of the text: the machine, the driver, the GPUs and what each framework sees, at a glance."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from gpudoctor.maybe import phrase
from gpudoctor.report.model import FrameworkEntry, GpuEntry, MachineEntry, PythonEntry, Report
from gpudoctor.report.sanitize import wrapped
from gpudoctor.targets import NAMES

WIDE = 10
SPELLED = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
_WORDS = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", "mps": "MPS", "cpu": "CPU build"}


def header(out: Console, report: Report) -> None:
    """Print the head."""
    for label, text in rows(report):
        for line in wrapped(text, out.width - WIDE):
            out.print(Text.assemble((f"{label:<{WIDE}}", "bold"), line), soft_wrap=True)
            label = ""


def rows(report: Report) -> Iterator[tuple[str, str]]:
    """The lines of the head, each with its label; one without goes on with what the one above it is about."""
    yield "gpudoctor", report.version
    yield "machine", _machine(report)
    yield "driver", _driver(report)
    yield from _gpus(report.gpus)
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
    if m.rocm:
        parts.append(f"ROCm {m.rocm}")
    elif any(gpu.vendor == "amd" and gpu.status != "no driver" for gpu in report.gpus):
        parts.append("amdgpu")
    if m.toolkit:
        parts.append(f"CUDA toolkit {m.toolkit}")
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


def _gpus(gpus: tuple[GpuEntry, ...]) -> Iterator[tuple[str, str]]:
    """Each GPU on a line; equal neighbours share one."""
    if not gpus:
        yield "GPUs", "none found"
    groups: list[tuple[str, list[int]]] = []
    for gpu in gpus:
        text = _gpu(gpu)
        if groups and groups[-1][0] == text:
            groups[-1][1].append(gpu.index)
        else:
            groups.append((text, [gpu.index]))
    for number, (text, indices) in enumerate(groups):
        which = f"{indices[0]}" if len(indices) == 1 else f"{indices[0]}-{indices[-1]}"
        yield "GPUs" if number == 0 else "", f"{which}  {text}"


def _gpu(gpu: GpuEntry) -> str:
    parts = [gpu.name or f"{SPELLED.get(gpu.vendor, gpu.vendor)} GPU"]
    if gpu.memory:
        parts.append(f"{gpu.memory / 2**30:.0f} GiB")
    if gpu.capability:
        parts.append(f"compute capability {gpu.capability}")
    if gpu.gfx and gpu.gfx != gpu.name:
        parts.append(gpu.gfx)
    if gpu.status == "no driver":
        parts.append("not visible to any driver")
    elif gpu.status not in (None, "ok"):
        parts.append(str(gpu.status))
    return ", ".join(parts)


def _python(python: PythonEntry, frameworks: list[FrameworkEntry]) -> Iterator[tuple[str, str]]:
    found_by = python.found_by if python.found_by != "--python" else ""
    words = (python.version, python.kind, python.manager and f"managed by {python.manager}", found_by)
    about = ", ".join(p for p in words if p)
    path = "./.venv" if python.found_by.startswith("found in this directory") else python.path
    yield "Python", path + (f" ({about})" if about else "")
    for framework in frameworks:
        name = f"{NAMES.get(framework.name, framework.name)} {framework.version or '(version unknown)'}"
        yield "", f"{name:<23} {_built(framework):<13} {_sees(framework)}"
    if not frameworks and python.error is None:
        yield "", "no framework found (PyTorch, TensorFlow, CuPy, JAX, ONNX Runtime)"


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
