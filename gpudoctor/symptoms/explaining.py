"""Which findings of a machine explain a message."""

import re
from collections.abc import Iterable, Sequence

from gpudoctor.knowledge.import_errors import distribution_of
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.lazy_regex import pattern
from gpudoctor.registry import BY_AREA, BY_MODULE
from gpudoctor.report.model import FindingEntry
from gpudoctor.symptoms.log import Hit

AREAS = {module: BY_MODULE[one.framework].area for one in wanted().framework for module in one.modules}
PROGRAMS = {name: BY_MODULE[one.framework].area for one in wanted().framework for name in one.programs}
# What can be the reason of an exception that has to do with GPUs and that no row knows: a script's own assertion.
GPU_CHECKS = (
    "visibility.*", "pytorch.no-gpu", "pytorch.cpu-build", "pytorch.wrong-vendor", "tensorflow.no-gpu",
    "tensorflow.libraries-missing", "jax.no-gpu", "jax.cpu-only", "cupy.no-gpu", "onnxruntime.no-gpu", "device.none",
    "device.no-gpu", "cluster.*", "cloud.*", "intel.*", "environment.*", "driver.*", "container.*", "wsl.*", "rocm.*",
    "fabric.*", "mig.*", "device.*",
)  # fmt: skip
_NEEDS = pattern(r"\bneeds? ([\w.-]+\w)")
_OF_GPU = pattern(r"(?i)gpu|cuda")
# What lacks what, in CPython's words: a module a name, or a package a name that is imported from it.
_LACKS = pattern(r"module '([\w.]+)' has no attribute '(\w+)'|cannot import name '(\w+)' from '([\w.]+)'")
_ABSENT = pattern(r"No module named '([\w.]+)'")
# Checks that look only where an installed package needs something: that one passes rules nothing out for a program.
OF_PACKAGES = ("cuda.nvcc-missing", "cuda.nvvm-missing", "python.numpy-2")
# Checks of a package's files: what its modules lack was removed or overwritten.
_OF_FILES = ("packages.builds-overwrite", "packages.modules-overwritten", "packages.files-mixed", "python.half-removed")
# Checks of releases that do not fit: what is raised inside of one of the two packages may come of it.
_OF_RELEASES = ("python.unmet-requirement", "packages.undeclared-requirement", "packages.mixed-releases")
_OF_USE = pattern(r"^(?:\w+\.)*(?:ImportError|ModuleNotFoundError|AttributeError|TypeError|NameError)\b")
_LONG = 22  # letters of an exception that no other one shares by chance: "ImportError: numpy" does not do
NO_GPU = ("device.none", "device.no-gpu")  # lesser findings, but anyone who wants a GPU needs no other reason

ADVISES = (
    *NO_GPU,
    "python.notebook-kernel-elsewhere",
    "packages.cpu-package",
    "onnxruntime.cpu-package",
    "cuda.nvcc-mismatch",
    "pytorch.compile-unsupported",
)  # advice that is the reason where a program fails


def explaining(wanted: Sequence[str], allowed: set[str], findings: Sequence[FindingEntry]) -> tuple[FindingEntry, ...]:
    """The findings that explain a message, the nearest first: as the wanted checks are ordered."""
    near = [(_nearest(finding, wanted, allowed), number) for number, finding in enumerate(findings)]
    return tuple(findings[number] for index, number in sorted(near) if index < len(wanted))


def _nearest(finding: FindingEntry, wanted: Sequence[str], allowed: set[str]) -> int:
    """The place of the first of a row's checks that a finding answers to, or that follows from it."""
    # That programs have no GPU follows from much; it is a reason only where nothing else keeps them from one.
    own = [finding.check, *(one.check for one in finding.consequences if one.check not in NO_GPU)]
    own = [id_ for id_ in own if not allowed or id_.split(".")[0] not in BY_AREA or id_.split(".")[0] in allowed]
    exact = finding.status != "fail"  # a whole area is meant for what keeps a GPU from working
    return min((place(id_, wanted, exact) for id_ in own), default=len(wanted))


def saying(text: str, findings: Sequence[FindingEntry], frames: Sequence[str] = ()) -> tuple[FindingEntry, ...]:
    """The findings that are about an exception: they quote its words, or name what lacks what.

    Args:
        text: the exception's line.
        findings: of the machine.
        frames: the top packages of the traceback's files.
    """
    named = _LACKS.search(text)
    words = [part for part in named.groups() if part] if named else []
    modules = [part.partition(".")[0] for part in (*words, *_ABSENT.findall(text))]
    first = re.split(r" \(/|\. (?=[A-Z])|; ", text)[0]
    # With and without the exception's name; of an error that wraps another one ("... (see above): ...") that one alone.
    parts = (first, first.partition(": ")[2], first.rpartition("): ")[2])
    quoted = [" ".join(part.split()).rstrip(".: ") for part in parts]
    found = []
    for finding in findings:
        said = " ".join((finding.message, *finding.evidence, *(one.message for one in finding.consequences)))
        said = " ".join(said.split())
        whole = any(len(part) >= _LONG and part in said for part in quoted)
        of_cpu = finding.check == "packages.cpu-package" and bool(words) and _OF_GPU.search(text) is not None
        whole = whole or (of_cpu and any(finding.message.startswith(distribution_of(word)) for word in words))
        of_keras = finding.check == "packages.keras-backend-missing" and "keras" in frames
        about = finding.check in _OF_FILES or of_keras
        whole = whole or (about and any(_names(finding, module) for module in modules))
        inner = frames[:1] if finding.check in _OF_RELEASES and _OF_USE.search(text) else ()
        whole = whole or any(name and _writes(finding, distribution_of(name)) for name in inner)
        if whole or (len(words) > 1 and all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", said) for word in words)):
            found.append(finding)
    return tuple(found)


def is_about(finding: FindingEntry, hit: Hit) -> bool:
    """Whether a finding can be about a message: one on two packages' releases where the message is of one of them."""
    if finding.check != "packages.undeclared-requirement":
        return True
    owner, _, rest = finding.message.partition(" ")
    needs = _NEEDS.search(rest)
    text = f"{hit.text} {hit.symptom.program} {hit.symptom.meaning}".lower().replace("_", "-")
    return any(name.lower() in text for name in (owner, *(needs.groups() if needs else ())))


def _names(finding: FindingEntry, module: str) -> bool:
    """Whether a finding's message names the package or framework of a module."""
    return _writes(finding, BY_AREA[AREAS[module]].title if module in AREAS else distribution_of(module))


def _writes(finding: FindingEntry, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", finding.message) is not None


def place(id_: str, wanted: Sequence[str], exact: bool = False) -> int:
    """The place of a check among the wanted, which name whole areas too unless it has to be exact."""
    for number, one in enumerate(wanted):
        if id_ == one or (not exact and one.endswith(".*") and id_.startswith(one[:-1])):
            return number
    return len(wanted)


def areas(hit: Hit) -> set[str]:
    """The frameworks that a message can come from; empty: any."""
    program = hit.symptom.program.partition("'")[0].partition(",")[0]  # PyTorch's DataLoader; PyTorch, NCCL
    if program in PROGRAMS:
        return {PROGRAMS[program]}
    return areas_of(hit.packages)


def areas_of(packages: Iterable[str]) -> set[str]:
    """The frameworks among some packages."""
    return {AREAS[name] for name in packages if name in AREAS}
