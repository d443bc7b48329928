"""Another package replaced the cuDNN that PyTorch pins."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package, UnmetRequirement
from gpudoctor.fixes.environment import own_environment
from gpudoctor.fixes.python import install
from gpudoctor.fixes.torch_build import reinstall_torch, torch_choice
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge.torch import with_cudnn
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import present
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import numbers, packages_of, release
from gpudoctor.queries.release_families import is_wanted
from gpudoctor.targets import NAMES, OnPython, pythons

_LOWEST = pattern(r"(?:==|>=|~=)\s*([0-9][0-9.]*[0-9])")


def _broken(on: OnPython) -> UnmetRequirement | None:
    pins = (u for u in on.python.unmet if u.requires.startswith("nvidia-cudnn") and u.found is not None)
    return next((u for u in pins if "==" in u.requires), None)


def _bringer(on: OnPython, broken: UnmetRequirement) -> Package | None:
    """Another package that requires cuDNN too, and most likely installed this version."""
    others = (p for p in packages_of(on.python) if p.name != broken.package)
    return next((p for p in others if any(line.startswith("nvidia-cudnn") for line in p.requires)), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    broken = _broken(on)
    if broken is None:
        return ()
    other = _bringer(on, broken)
    back = f"Reinstall the cuDNN that {broken.package} pins{f'; {other.name} accepts it too' if other else ''}."
    restored = Fix(back, (install(on.python, broken.requires),), "reinstall-package", verify=framework_proof(on.python))
    if other is None or _accepts(other, broken.requires):
        return (restored,)
    if _runs_with(other, broken.requires):
        message = (
            f"Reinstall the cuDNN that {broken.package} pins: {other.name} runs with it too, whatever it pins, because "
            "a newer cuDNN of the same major release serves what was built with an older one."
        )
        return (msgspec.structs.replace(restored, message=message), _separate(on, other, broken))
    fixes = [_separate(on, other, broken)]
    torch = one_of(on.python, "torch")
    choice = torch_choice(on.facts, on.python) if torch else None
    found, pinned = numbers(broken.found or "")[:1], numbers(broken.requires.partition("==")[2])[:1]
    if torch and choice and found > pinned:
        wheel = reinstall_torch(on.facts, on.python, torch)
        commands = wheel[0].tasks if wheel else ()
        message = f"Install a newer PyTorch, which is built with cuDNN {found[0]} ({with_cudnn(found[0])})."
        fixes.append(Fix(message, commands, "reinstall-package", verify=framework_proof(on.python, "torch")))
    message = f"Reinstall the cuDNN that {broken.package} pins; {other.name} does not support it."
    return (*fixes, msgspec.structs.replace(restored, message=message))


def _runs_with(other: Package, pin: str) -> bool:
    """Whether the pinned cuDNN is of the major release that a package asks for, and no older than that.

    cuDNN keeps its interface within a major release:
    https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/forward-compatibility.html
    """
    asked = [numbers(v) for line in other.requires if line.startswith("nvidia-cudnn") for v in _LOWEST.findall(line)]
    pinned = numbers(pin.partition("==")[2].strip())
    return bool(asked) and all(low[:1] == pinned[:1] and low <= pinned for low in asked)


def _accepts(other: Package, pin: str) -> bool:
    """Whether a package's cuDNN requirement includes the version that PyTorch pins."""
    from packaging.requirements import InvalidRequirement, Requirement  # 45 ms, for a broken environment alone

    name, _, version = pin.partition("==")
    try:
        asked = [Requirement(line) for line in other.requires if line.startswith("nvidia-cudnn")]
    except InvalidRequirement:
        return False
    return all(one.specifier.contains(version.strip()) for one in asked if one.name == name.strip())


def _separate(on: OnPython, other: Package, broken: UnmetRequirement) -> Fix:
    module = "jax" if other.name.startswith("jax") else other.name
    extra = "and-cuda" if module == "tensorflow" else other.name.split("-")[1] if "-cuda" in other.name else ""
    spec = f"{module if extra else other.name}{f'[{extra}]' if extra else ''}=={release(other.version)}"
    return Fix(
        f"Install {NAMES.get(module, module)} and PyTorch in separate virtual environments, and give this one "
        f"PyTorch's cuDNN back: PyTorch pins one version, and {NAMES.get(module, module)} asks for another.",
        (*own_environment(on.python, spec), install(on.python, broken.requires)),
        "reinstall-package",
        verify=framework_proof(on.python, "torch"),
    )


@check(
    title="Installed cuDNN is not the version that PyTorch pins",
    severity=Severity.WARNING,
    cause="All frameworks in an environment share one nvidia-cudnn wheel; the package installed last replaced it with "
    "the version that it needs, against PyTorch's pin.",
    fixes=_fixes,
    references=(
        "https://github.com/apple/axlearn/issues/858",
        "https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/forward-compatibility.html",
    ),
    targets=pythons,
    only_with=("pythons.unmet",),
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def cudnn_pin_broken(on: OnPython) -> Problem | None:
    """PyTorch pins nvidia-cudnn to one version, and another is installed."""
    broken = _broken(on)
    if broken is None:
        return None
    severity, name = _severity(on, broken), broken.requires.partition("==")[0].strip()
    if severity is Severity.ADVICE and is_wanted(on.facts, on.python, name, broken.found or ""):
        return None
    other = _bringer(on, broken)
    by = f" (installed by {other.name} {other.version})" if other else ""
    package, pin = broken.requires.split("==")[:2]
    name = NAMES.get(broken.package, broken.package)
    message = (
        f"{name} {broken.version} is built with cuDNN {pin}, but {package} {present(broken.found)} is installed{by}."
    )
    evidence = [f"{other.name} requires {line}" for line in other.requires if "cudnn" in line] if other else []
    return Problem(message, (f"{broken.package} requires {broken.requires}", *evidence), severity=severity)


def _severity(on: OnPython, broken: UnmetRequirement) -> Severity:
    """Another major cannot be loaded, an older minor is rejected, a newer minor works."""
    torch = one_of(on.python, "torch")
    found, pinned = numbers(broken.found or ""), numbers(broken.requires.partition("==")[2])
    failed = torch is not None and torch.live is not None and "cudnn" in (torch.live.import_error or "")
    if failed or found[:1] != pinned[:1]:
        return Severity.ERROR
    return Severity.WARNING if found[:2] < pinned[:2] else Severity.ADVICE
