"""An interpreter and its frameworks in words: what each was built for, what it sees, what it loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.facts import Framework, LiveFramework, Python
from gpudoctor.maybe import Unknown, text_of
from gpudoctor.registry import FRAMEWORKS
from gpudoctor.targets import framework_name
from gpudoctor.tui.environment.libraries import Linked, besides, linked
from gpudoctor.tui.environment.lines import LabeledLine

GAP = LabeledLine("", "")


def described(python: Python) -> list[LabeledLine]:
    """All lines about an interpreter that was checked."""
    lines = [LabeledLine("", python.path, "heading"), *_interpreter(python)]
    for framework in python.frameworks:
        lines += [GAP, *of_framework(framework)]
    if not python.frameworks and python.error is None:
        lines += [
            GAP,
            LabeledLine("", f"No framework is installed ({', '.join(one.title for one in FRAMEWORKS)})."),
        ]
    return lines


def word(value: Any) -> str:
    """A fact for people; an unknown one with its reason."""
    if isinstance(value, Unknown):
        return f"unknown: {value.unknown}"
    if isinstance(value, (tuple, list)):
        return " ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def known(label: str, value: Any, style: str = "") -> LabeledLine:
    """A fact with its label."""
    return LabeledLine(label, word(value), "warn" if isinstance(value, Unknown) else style)


def _interpreter(python: Python) -> Iterator[LabeledLine]:
    if python.error is not None:
        yield LabeledLine("error", python.error, "fail")
        return
    parts = [python.implementation, python.version, python.kind, python.manager]
    words = [str(part) for part in parts[:3] if isinstance(part, str)]
    if isinstance(python.manager, str):
        words.append(f"{python.manager} installs")
    yield LabeledLine("Python", ", ".join(words))
    yield from (LabeledLine("chosen by", python.found_by) for _ in [0] if python.found_by not in ("", "--python"))
    yield known("packages in", python.site_packages)
    yield from (LabeledLine("shadowed", _hidden(s.module, s.wins, s.origin), "warn") for s in python.shadows[:5])
    yield from (LabeledLine("leftover", f"{r.path}: {r.reason}", "warn") for r in python.remnants[:5])
    for one in python.unmet[:5]:
        found = f"found {one.found}" if one.found else "it is missing"
        yield LabeledLine("unmet", f"{one.package} {one.version} requires {one.requires}; {found}", "warn")


def _hidden(module: str, wins: str, caused_by: str) -> str:
    return f"{module} comes from {wins}" + (f" ({caused_by})" if caused_by else "")


# -- a framework ---------------------------------------------------------------------------------------------


def of_framework(framework: Framework) -> list[LabeledLine]:
    """All lines about one framework."""
    return [
        LabeledLine("", framework_name(framework), "heading"),
        *_built(framework),
        *(
            _ran(framework, framework.live)
            if framework.live
            else [LabeledLine("sees", "unknown: it was not imported", "dim")]
        ),
        *_libraries(framework),
    ]


def _built(framework: Framework) -> Iterator[LabeledLine]:
    parts = [f"CUDA {framework.cuda}"] if isinstance(framework.cuda, str) else []
    parts += [f"ROCm {framework.hip}"] if isinstance(framework.hip, str) else []
    parts += [f"cuDNN {framework.cudnn}"] if isinstance(framework.cudnn, str) else []
    if parts or not isinstance(framework.variant, Unknown):
        name = text_of(framework.variant)
        yield LabeledLine("built for", ", ".join(parts) or {"cpu": "the CPU only"}.get(name, name))
    else:
        yield known("built for", framework.variant)
    if framework.archs != ():
        yield known("code for", framework.archs)
    if isinstance(framework.kernels, tuple) and framework.kernels not in ((), framework.archs):
        yield known("contains", framework.kernels)
    for label, value in (("plugin", framework.plugin), ("version", framework.plugin_version)):
        if isinstance(value, str):
            yield LabeledLine(label, value)
    if isinstance(framework.backend_version, str):
        yield LabeledLine("jaxlib", framework.backend_version)
    yield from (LabeledLine("also found", f"{name} {version}", "warn") for name, version in framework.others)
    if framework.location is not None:
        yield LabeledLine("location", framework.location)


def _ran(framework: Framework, live: LiveFramework) -> Iterator[LabeledLine]:
    yield _imported(live)
    if live.import_error is None:
        yield _sees(framework, live)
    if isinstance(live.error, str):
        yield LabeledLine("error", live.error, "" if framework.variant == "cpu" else "fail")
    nccl = "RCCL" if framework.variant == "rocm" else "NCCL"
    values = (("cuDNN loaded", live.cudnn), (nccl, live.nccl), ("CUDA path", live.cuda_path), ("NVRTC", live.nvrtc))
    for label, value in values:
        if isinstance(value, str):
            yield LabeledLine(label, value)
    for label, error in (("cuDNN", live.cudnn_error), ("NVRTC", live.nvrtc_error)):
        if error is not None:
            yield LabeledLine(label, error, "fail")
    if isinstance(live.providers, tuple):
        yield known("providers", live.providers)
    yield from (LabeledLine("warning", text, "warn") for text in live.warnings[:3])


def _imported(live: LiveFramework) -> LabeledLine:
    if live.import_error is not None:
        return LabeledLine("import", live.import_error, "fail")
    if live.died is not None:
        return LabeledLine("import", f"killed by {live.died} in stage {live.stage}", "fail")
    if live.hung:
        return LabeledLine("import", f"stopped responding in stage {live.stage}", "fail")
    seconds = "" if live.import_seconds is None else f"in {live.import_seconds:.2g} s"
    return LabeledLine("import", f"works {seconds}".strip())


def _sees(framework: Framework, live: LiveFramework) -> LabeledLine:
    if isinstance(live.count, Unknown):
        return known("sees", live.count)
    if live.count == 0 or live.available is False:
        return LabeledLine("sees", "no GPU", "dim" if framework.variant == "cpu" else "fail")
    names = [word(device.name) for device in live.devices] if isinstance(live.devices, tuple) else []
    counted = ", ".join(f"{names.count(n)} x {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names))
    several = "" if live.count == 1 else "s"
    return LabeledLine("sees", f"{live.count} GPU{several}" + (f": {counted}" if counted else ""), "pass")


def _libraries(framework: Framework) -> Iterator[LabeledLine]:
    found, more = linked(framework), besides(framework)
    if isinstance(framework.needs, Unknown):
        yield known("libraries", framework.needs)
    if found:
        yield LabeledLine("", "Required libraries and where they come from", "dim")
    for one in found:
        yield from _library(one)
    if more:
        yield LabeledLine("", "Also loaded" if found else "Loaded libraries", "dim")
    yield from (LabeledLine("", f"  {path}") for path in more)


def _library(one: Linked) -> Iterator[LabeledLine]:
    yield LabeledLine(one.need.soname, one.message, "fail" if one.need.path is None else "")
    if one.need.path is not None:
        yield LabeledLine("  used", one.need.path)
    if one.loaded is not None and not one.agrees:
        yield LabeledLine("  loaded", one.loaded, "warn")
    yield from (LabeledLine("  hidden", path, "dim") for path in one.need.copies)
