"""torchvision or torchaudio compiled for another PyTorch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.extensions import companions
from gpudoctor.knowledge.python_rules import first_torch_of_torchaudio, torchvision_for, wants_cuda_minor
from gpudoctor.knowledge.torch import cuda_of_variant
from gpudoctor.knowledge.torch import release as torch_release
from gpudoctor.maybe import Unknown, known, phrase, present
from gpudoctor.queries.extensions import COMPANIONS, lack, unfit
from gpudoctor.queries.packages import is_own_build, numbers, packages_of, release
from gpudoctor.targets import OnFramework, torches


def _wrong(on: OnFramework) -> tuple[Package, str] | None:
    """The first of them that does not match the installed torch, and what it is for."""
    torch = known(on.framework.version) or ""
    # Where torch's metadata is gone, its own code has the release: 2.7.1+cu126 is what torch==2.7.1 asks for.
    broken = (u for u in on.python.unmet if u.package in COMPANIONS and u.requires.startswith("torch"))
    pins = {u.package: u.requires for u in broken if u.requires.partition("==")[2] != release(torch)}
    for package in packages_of(on.python):
        if package.name in COMPANIONS and package.name in pins:
            return package, f"requires {pins[package.name]}"
        own = is_own_build(torch) or is_own_build(package.version)
        if package.name == "torchvision" and not _pins(package) and not own:
            wanted = torchvision_for(release(torch))
            if wanted and numbers(wanted)[:2] != numbers(package.version)[:2]:
                return package, f"is for another PyTorch, which needs torchvision {wanted}"
        first = first_torch_of_torchaudio(package.version) if package.name == "torchaudio" and not own else None
        if first and numbers(torch)[:2] < numbers(first):
            return package, f"is for PyTorch {first} and later"
    return _wrong_build(on, torch) or _unloadable(on)


def _pins(package: Package) -> bool:
    """Whether it names the release of PyTorch that it is for: AMD's own wheels and conda's packages do not."""
    return any(one.startswith("torch==") for one in package.requires)


def _unloadable(on: OnFramework) -> tuple[Package, str] | None:
    """Whatever the versions are: its compiled part lacks symbols of this PyTorch, or its CUDA runtime."""
    if isinstance(on.python.extensions, Unknown):
        return None
    found = {e.package: e for e in reversed(unfit(on.python))}
    broken = (p for p in packages_of(on.python) if p.name in COMPANIONS and p.name in found)
    return next(((p, f"does not load: {lack(found[p.name], on.framework)}") for p in broken), None)


def _wrong_build(on: OnFramework, torch: str) -> tuple[Package, str] | None:
    """A CPU build of torchvision with a GPU build of torch, or one of them for another CUDA than torch's."""
    ours = torch.partition("+")[2]
    for package in packages_of(on.python):
        theirs = package.version.partition("+")[2]
        if package.name == "torchvision" and ours.startswith("cu") and theirs == "cpu":
            return package, f"is the build {theirs}, PyTorch is the build {ours}"
        if package.name in COMPANIONS and (cuda := _other_cuda(on, package)):
            return package, f"is compiled for CUDA {cuda}, PyTorch for CUDA {present(on.framework.cuda)}"
    return None


def _other_cuda(on: OnFramework, package: Package) -> str | None:
    """The CUDA release that it was compiled for, where it refuses to import with this PyTorch's."""
    theirs, ours = _cuda_of(on, package), on.framework.cuda
    if theirs is None or not isinstance(ours, str) or "." not in ours:
        return None
    minor = package.name == "torchaudio" and wants_cuda_minor(package.version)
    length = 2 if minor else 1
    return theirs if numbers(theirs)[:length] != numbers(ours)[:length] else None


def _cuda_of(on: OnFramework, package: Package) -> str | None:
    """By the local version; PyPI's wheels have none and are built for the same CUDA as PyTorch's wheel there."""
    local = package.version.partition("+")[2]
    if local:
        return cuda_of_variant(local)
    row = torch_release(_torch_of(package))
    from_pypi = package.installer in ("pip", "uv", "poetry") and on.facts.host.architecture == "x86_64"
    return cuda_of_variant(row.default) if row and from_pypi else None


def _torch_of(package: Package) -> str:
    """The PyTorch release of a torchaudio or torchvision: 2.0 of torchaudio 2.0.2, 2.7 of torchvision 0.22.1."""
    first, second = (*numbers(package.version), 0, 0)[:2]
    return f"2.{second - 15}" if package.name == "torchvision" else f"{first}.{second}"


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return (companions(on.facts, on.python, on.framework),)


@check(
    title="torchvision or torchaudio does not match PyTorch",
    severity=Severity.ERROR,
    cause="torchvision and torchaudio are compiled against exactly one PyTorch release; with another one their "
    "compiled operators do not load ('operator torchvision::nms does not exist'). They also refuse to import with a "
    "PyTorch for another CUDA (torchvision: another major; torchaudio: even another minor).",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/vision#installation",
        "https://github.com/pytorch/pytorch/issues/122494",
        "https://github.com/mli/autocut/issues/106",
    ),
    targets=torches,
    only_with=("pythons.packages.name=torchvision,torchaudio pythons.frameworks.version?",),
    caused_by=("python.*", "libraries.wheel-incomplete", "pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def torchvision_mismatch(on: OnFramework) -> Problem | None:
    """Its torch requirement, its version or its build does not match."""
    found = _wrong(on)
    if found is None:
        return None
    package, why = found
    there = "PyTorch" + phrase(" {}", on.framework.version)
    message = f"{package.name} {package.version} {why}; {there} is installed: a mismatch."
    return Problem(
        message, tuple(f"{package.name} requires {line}" for line in package.requires if line.startswith("torch"))
    )
