"""Packages that were built for another PyTorch version."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package, UnmetRequirement
from gpudoctor.fixes.extensions import rebuild
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.maybe import phrase, present
from gpudoctor.queries.extensions import built_for, loads
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import OnPython, pythons

_OTHERS = ("torchvision", "torchaudio")  # they have a check of their own


def _unmet(on: OnPython) -> list[UnmetRequirement]:
    pins = (u for u in on.python.unmet if u.requires.replace(" ", "").startswith("torch==") and u.found is not None)
    return [u for u in pins if is_extension(u.package) and u.package not in _OTHERS]


def _tagged(on: OnPython) -> list[tuple[Package, str]]:
    """The packages whose version or own record names another PyTorch, unless they were seen to load anyway."""
    torch = one_of(on.python, "torch")
    if torch is None or not isinstance(torch.version, str):
        return []
    found = []
    for package in packages_of(on.python):
        if is_extension(package.name) and package.name not in _OTHERS:
            wanted, cuda = built_for(package)
            if wanted and numbers(wanted) != numbers(torch.version)[:2]:
                found.append((package, f"PyTorch {wanted}"))
            elif cuda and isinstance(torch.cuda, str) and numbers(cuda)[:1] != numbers(torch.cuda)[:1]:
                found.append((package, f"CUDA {cuda}"))
    return [(package, wanted) for package, wanted in found if not loads(on.python, package.name)]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    unmet = _unmet(on)
    name, version = (
        (unmet[0].package, unmet[0].version) if unmet else (_tagged(on)[0][0].name, _tagged(on)[0][0].version)
    )
    return rebuild(on, name, version, one_of(on.python, "torch"))


@check(
    title="A package was built for another PyTorch version",
    severity=Severity.WARNING,
    cause="Its compiled code works with only one PyTorch release, which its requirements or its version name, but "
    "another one is installed.",
    fixes=_fixes,
    references=(
        "https://github.com/vllm-project/vllm/issues/13608",
        "https://pytorch-geometric.readthedocs.io/en/latest/install/installation.html",
    ),
    targets=pythons,
    caused_by=("python.*", "packages.extension-abi", "packages.torchvision-mismatch", "pytorch.cpu-build"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def built_for_another_torch(on: OnPython) -> Problem | None:
    """Its requirement torch==X does not hold, or its version or record names another PyTorch or CUDA major."""
    found = _unmet(on)
    if found:
        first = found[0]
        more = f" ({len(found) - 1} more packages)" if len(found) > 1 else ""
        there = f"torch {present(first.found)} is installed"
        message = f"{first.package} {first.version} requires {first.requires}; {there}{more}."
        return Problem(message, tuple(f"{u.package} {u.version} requires {u.requires}" for u in found[:5]))
    tagged = _tagged(on)
    if not tagged:
        return None
    package, wanted = tagged[0]
    torch = one_of(on.python, "torch")
    number = phrase(" {}", torch.version) + phrase(" for CUDA {}", torch.cuda) if torch else ""
    more = f" ({len(tagged) - 1} more packages)" if len(tagged) > 1 else ""
    return Problem(f"{package.name} {package.version} is built for {wanted}; torch{number} is installed{more}.")
