"""torchvision or torchaudio compiled for another PyTorch."""

from gpudoctor.facts import Package
from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge.python_rules import torchvision_for
from gpudoctor.knowledge.torch import index_of
from gpudoctor.maybe import known
from gpudoctor.remedies.python import install, lasting, torch_verify
from gpudoctor.subjects import OnFramework, torches
from gpudoctor.views.packages import numbers, packages_of, release

_NAMES = ("torchvision", "torchaudio")


def _wrong(on: OnFramework) -> tuple[Package, str] | None:
    """The first of them that does not belong to the installed torch, and what it is for."""
    torch = known(on.framework.version) or ""
    pins = {u.package: u.requires for u in on.python.unmet if u.package in _NAMES and u.requires.startswith("torch")}
    for package in packages_of(on.python):
        if package.name in _NAMES and package.name in pins:
            return package, f"requires {pins[package.name]}"
        if package.name == "torchvision" and not package.requires:
            wanted = torchvision_for(release(torch))
            if wanted and numbers(wanted)[:2] != numbers(package.version)[:2]:
                return package, f"is for another PyTorch; torchvision {wanted} belongs to it"
    return _wrong_build(on, torch)


def _wrong_build(on: OnFramework, torch: str) -> tuple[Package, str] | None:
    """A CPU build of torchvision beside a GPU build of torch, or a build for another CUDA major."""
    ours = torch.partition("+")[2]
    for package in packages_of(on.python):
        theirs = package.version.partition("+")[2]
        if package.name == "torchvision" and ours and theirs and ours[:4] != theirs[:4]:
            return package, f"is the build {theirs}, PyTorch is the build {ours}"
    return None


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    torch = str(on.framework.version)
    there = [p.name for p in packages_of(on.python) if p.name in _NAMES]
    version, tag = release(torch), torch.partition("+")[2] or _tag(on)
    vision = torchvision_for(version)
    known_ones = {"torchvision": f"torchvision=={vision}" if vision else "torchvision", "torchaudio": "torchaudio"}
    specs = [f"torch=={version}", *(known_ones[name] for name in there)]
    command = install(on.python, *specs, index=index_of(tag) if tag else None)
    says = (
        f"Install the {' and '.join(there)} that belongs to PyTorch {version}, from the same index.{lasting(on.facts)}"
    )
    return (Fix(says, (command,), "reinstall-package", verify=torch_verify(on.python)),)


def _tag(on: OnFramework) -> str:
    cuda = on.framework.cuda
    return f"cu{cuda.replace('.', '')}" if isinstance(cuda, str) and cuda.count(".") == 1 else ""


@check(
    title="torchvision or torchaudio does not belong to the installed PyTorch",
    severity=Severity.ERROR,
    cause="torchvision and torchaudio are compiled against exactly one release of PyTorch; with another one their "
    "compiled operators do not load ('operator torchvision::nms does not exist').",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/vision#installation",
        "https://github.com/pytorch/pytorch/issues/122494",
    ),
    each=torches,
    because=("python.*", "pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def torchvision_mismatch(on: OnFramework) -> Problem | None:
    """Its requirement of torch, its version or its build does not fit."""
    found = _wrong(on)
    if found is None:
        return None
    package, why = found
    says = f"{package.name} {package.version} {why}; installed is PyTorch {on.framework.version}: a mismatch."
    return Problem(
        says, tuple(f"{package.name} requires {line}" for line in package.requires if line.startswith("torch"))
    )
