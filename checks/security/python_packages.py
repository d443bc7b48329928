"""Python packages with known vulnerabilities: PyTorch, vLLM, Ray."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Package, Python
from gpudoctor.fixes.security import newer_package
from gpudoctor.knowledge.vulnerabilities import Vulnerability, of_release, vulnerabilities
from gpudoctor.maybe import known
from gpudoctor.queries.packages import package
from gpudoctor.queries.security import advice, upstream
from gpudoctor.targets import OnPython

_TITLES = {"torch": "PyTorch", "vllm": "vLLM", "ray": "Ray"}
_CAUSES = {
    "torch": "A crafted checkpoint file can run code when torch.load() reads it, even with weights_only=True.",
    "vllm": "A crafted request can run code in the server, if others can reach it.",
    "ray": "A job can be submitted to Ray's dashboard without a login, by others or by a page in your browser.",
}


class _OnPackage(msgspec.Struct, frozen=True):
    facts: Facts
    python: Python
    package: Package


def serving_packages(facts: Facts) -> Iterator[tuple[About, _OnPackage]]:
    """Each package that the table knows, in each environment.

    Raises:
        UnknownFactError: what is installed is not known.
    """
    for python in facts.pythons:
        known(python.packages)
        for name in _TITLES:
            if found := package(python, name):
                label = f"{_TITLES[name]} {found.version}"
                yield About(label=label, python=python.path, package=name), _OnPackage(facts, python, found)


def _found(it: _OnPackage) -> tuple[Vulnerability, ...]:
    """Those of the release: 2.5.1+cu124 of PyTorch's index is 2.5.1, another's build is unknown."""
    version, _, variant = it.package.version.partition("+")
    own = not variant or variant.startswith(("cu", "cpu", "rocm", "xpu"))
    return of_release(vulnerabilities().packages[it.package.name], upstream(version if own else it.package.version))


def _fixes(it: _OnPackage) -> tuple[Fix, ...]:
    return newer_package(OnPython(it.facts, it.python), it.package.name, _found(it))


@check(
    title="Python package has known vulnerabilities",
    severity=Severity.ADVICE,
    cause="In these releases foreign input can run code here: a checkpoint file that torch.load() reads, even with "
    "weights_only=True, or a request to a server that others can reach.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/security/advisories/GHSA-53q9-r3pm-6pq6",
        "https://github.com/vllm-project/vllm/security/advisories",
        "https://github.com/ray-project/ray/security/advisories/GHSA-q279-jhrf-cc6v",
    ),
    targets=serving_packages,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def python_packages(it: _OnPackage) -> Problem | None:
    """A release of PyTorch, vLLM or Ray is older than the fix of a security advisory."""
    name = it.package.name
    problem = advice(f"{_TITLES[name]} {it.package.version} in {it.python.path}", _found(it))
    return msgspec.structs.replace(problem, cause=_CAUSES[name]) if problem else None
