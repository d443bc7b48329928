"""torchvision or torchaudio compiled for another PyTorch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.python_rules import torchvision_for, wants_cuda_minor
from gpudoctor.knowledge.torch import cuda_of_variant, index_of
from gpudoctor.knowledge.torch import release as torch_release
from gpudoctor.maybe import known, phrase, present, text_of
from gpudoctor.queries.packages import is_own_build, numbers, packages_of, release
from gpudoctor.targets import OnFramework, torches

_NAMES = ("torchvision", "torchaudio")


def _wrong(on: OnFramework) -> tuple[Package, str] | None:
    """The first of them that does not match the installed torch, and what it is for."""
    torch = known(on.framework.version) or ""
    # Where torch's metadata is gone, its own code has the release: 2.7.1+cu126 is what torch==2.7.1 asks for.
    broken = (u for u in on.python.unmet if u.package in _NAMES and u.requires.startswith("torch"))
    pins = {u.package: u.requires for u in broken if u.requires.partition("==")[2] != release(torch)}
    for package in packages_of(on.python):
        if package.name in _NAMES and package.name in pins:
            return package, f"requires {pins[package.name]}"
        own = is_own_build(torch) or is_own_build(package.version)
        if package.name == "torchvision" and not package.requires and not own:
            wanted = torchvision_for(release(torch))
            if wanted and numbers(wanted)[:2] != numbers(package.version)[:2]:
                return package, f"is for another PyTorch, which needs torchvision {wanted}"
    return _wrong_build(on, torch)


def _wrong_build(on: OnFramework, torch: str) -> tuple[Package, str] | None:
    """A CPU build of torchvision with a GPU build of torch, or one of them for another CUDA than torch's."""
    ours = torch.partition("+")[2]
    for package in packages_of(on.python):
        theirs = package.version.partition("+")[2]
        if package.name == "torchvision" and ours.startswith("cu") and theirs == "cpu":
            return package, f"is the build {theirs}, PyTorch is the build {ours}"
        if package.name in _NAMES and (cuda := _other_cuda(on, package)):
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
    torch = present(on.framework.version)
    there = [p.name for p in packages_of(on.python) if p.name in _NAMES]
    version, tag = release(torch), torch.partition("+")[2] or _tag(on)
    vision = torchvision_for(version)
    known_ones = {"torchvision": f"torchvision=={vision}" if vision else "torchvision", "torchaudio": "torchaudio"}
    specs = [f"torch=={version}", *(known_ones[name] for name in there)]
    old = [package.name] if (package := _named(on)) else []
    command = install(on.python, *specs, index=index_of(tag) if tag else None)
    message = (
        f"Install the {' and '.join(there)} release for PyTorch {version}, from the same index.{lasting(on.facts)}"
    )
    return (
        Fix(
            message,
            (uninstall(on.python, *old), command) if old else (command,),
            "reinstall-package",
            verify=verify(on.python, f"import torch, {', '.join(there)}; print({there[0]}.__version__)"),
        ),
    )


def _named(on: OnFramework) -> Package | None:
    """The package of another build: an installed version satisfies pip whatever its build, so it is removed first."""
    found = _wrong_build(on, text_of(on.framework.version))
    return found[0] if found else None


def _tag(on: OnFramework) -> str:
    cuda = on.framework.cuda
    return f"cu{cuda.replace('.', '')}" if isinstance(cuda, str) and cuda.count(".") == 1 else ""


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
    caused_by=("python.*", "pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
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
