"""A fix for an extension that does not fit PyTorch never installs what is there again: it would change nothing.

Every extension that a table knows, in the releases and builds that the tables tell apart, next to PyTorch of PyPI and
of its indexes. A build from source, a wheel for another PyTorch, and another index's build are not what is there.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
import pytest
from packaging.requirements import InvalidRequirement, Requirement

from gpudoctor.check_engine import Check, Fix, run
from gpudoctor.checks.packages.built_for_another_torch import built_for_another_torch
from gpudoctor.checks.packages.extension_abi import extension_abi
from gpudoctor.checks.packages.torchcodec_mismatch import torchcodec_mismatch
from gpudoctor.checks.packages.torchvision_mismatch import torchvision_mismatch
from gpudoctor.facts import Extension, Facts, Package, UnmetRequirement
from gpudoctor.knowledge.cuda_extensions import cuda_extensions
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.maybe import known
from gpudoctor.tasks import Command, PackageChange
from tests.builders import change
from tests.checks.environments import SITE, environment, machine, package, torch

NAMES = sorted({*wanted().extensions, *cuda_extensions().stable, *python_rules().of_torch, "natten"})
CHECKS: tuple[Check[Any], ...] = (extension_abi, built_for_another_torch, torchvision_mismatch, torchcodec_mismatch)
# PyTorch's own version, what pip installed, its CUDA.
TORCHES = [
    ("2.15.0+cu132", "2.15.0", "13.2"),
    ("2.12.1+cu126", "2.12.1+cu126", "12.6"),
    ("2.11.0+cu130", "2.11.0", "13.0"),
    ("2.10.0+cu128", "2.10.0", "12.8"),
    ("2.9.1+cu130", "2.9.1+cu130", "13.0"),
    ("2.8.0+cu128", "2.8.0", "12.8"),
    ("2.5.1+cu124", "2.5.1", "12.4"),
]
BUILDS = ["", "+pt28cu128", "+cu128torch2.9", "+torch2100cu130", "+pt25cu124", "+cu126"]
LACKS = [{"unresolved": ("_ZN3c105ErrorC2ENS_14SourceLocationESs",)}, {"missing": ("libcudart.so.12",)}]
# None of its own says which place a release came from, so that of two indexes each may have another build.
ELSEWHERE = ("--no-binary", "--find-links", "--index-url", "--no-index", "-f")


def _releases(name: str) -> list[str]:
    """The newest and the oldest release that a table names, and one that none does."""
    of_torch = list(python_rules().of_torch.get(name, {}))
    stable = cuda_extensions().stable.get(name)
    return [*(of_torch[:1] + of_torch[-1:]), *([stable.since, "0.0.33.post2"] if stable else []), "2.3.4"]


def _is_there(words: tuple[str, ...], there: dict[str, Package]) -> bool:
    """Whether all that a command of pip installs is there in that release, and of a build that it may be."""
    specs = [word for at, word in enumerate(words) if word[:1] != "-" and words[at - 1] != "--only-binary"]
    for spec in specs:
        try:
            one = Requirement(spec)
        except InvalidRequirement:
            return False  # an address, or a path
        package = there.get(one.name)
        if package is None or "+" in package.version or not _holds(one, there):
            return False
        if "--no-deps" not in words and not all(_holds(Requirement(line), there) for line in package.requires):
            return False  # pip takes another release of the one or of the other
    return bool(specs)


def _holds(one: Requirement, there: dict[str, Package]) -> bool:
    return one.specifier.contains(there[one.name].version, prereleases=True)


def _repeats(fix: Fix, there: dict[str, Package]) -> bool:
    """Whether a fix does nothing but install what is there: newer releases are taken with --upgrade alone."""
    done = [task for task in fix.tasks if isinstance(task, Command) and isinstance(task.packages, PackageChange)]
    if not done or len(done) < len(fix.tasks):
        return False
    for command in done:
        words = command.argv
        if "install" not in words or "--upgrade" in words or command.env or set(ELSEWHERE) & set(words):
            return False
        if not _is_there(words[words.index("install") + 1 :], there):
            return False
    return True


def _facts(name: str, version: str, ours: tuple[str, str, str], lack: dict[str, Any], pin: str) -> Facts:
    live, installed, cuda = ours
    record = "2.10.0+cu128" if name in wanted().records and not pin and "+" not in version else None
    requires = (f"torch=={pin}",) if pin else ("torch>=2.4",)
    mine = package(name, version, requires=requires, built_with=record)
    lacks = Extension(package=name, version=version, path=f"{SITE}/{name}/_C.so", needed=("libc10.so",), **lack)
    broken = UnmetRequirement(package=name, version=version, requires=f"torch=={pin}", found=installed)
    unmet = (broken,) if pin and pin != installed.partition("+")[0] else ()
    facts = environment(torch(live, cuda=cuda), extensions=(lacks,), unmet=unmet, facts=machine("13.0"))
    return change(facts, "pythons.0.packages", (Package(name="torch", version=installed, directory=SITE), mine))


def _cases(name: str) -> Iterator[Facts]:
    for version, build, ours, lack in product(_releases(name), BUILDS, TORCHES, LACKS):
        for pin in ("", "2.8.0", ours[1].partition("+")[0]):
            if not (pin and build):
                yield _facts(name, version + build, ours, lack, pin)


@pytest.mark.parametrize("name", NAMES)
def test_no_fix_installs_what_is_there_again(name: str) -> None:
    asked = 0
    for facts in _cases(name):
        there = {p.name: p for p in known(facts.pythons[0].packages)}
        for check in CHECKS:
            for verdict in run(check, facts):
                asked += len(verdict.fixes)
                for fix in verdict.fixes:
                    assert not _repeats(fix, there), (there, check.id, fix.message)
    assert asked


def test_the_rule_finds_one_that_does() -> None:
    packages = {"torch": package("torch", "2.15.0"), "xformers": package("xformers", "0.0.35")}
    pinned = {**packages, "xformers": package("xformers", "0.0.30", requires=("torch==2.7.0",))}
    again = PackageChange("/env/bin/python", "pip")
    pip = ("/env/bin/python", "-m", "pip", "install")

    def fix(*words: str, **more: Any) -> Fix:
        return Fix("Install it.", (Command(argv=(*pip, *words), packages=again, **more),), "reinstall-package")

    assert _repeats(fix("--force-reinstall", "--no-deps", "xformers"), packages)
    assert _repeats(fix("--only-binary", "xformers", "xformers", "torch==2.15.0"), packages)
    assert _repeats(fix("torch==2.15.*"), packages)
    assert not _repeats(fix("--only-binary", "xformers", "xformers", "torch==2.15.0"), pinned)
    assert not _repeats(fix("torch==2.10.*"), packages)
    assert not _repeats(fix("--upgrade", "xformers"), packages)
    assert not _repeats(fix("--force-reinstall", "--index-url", "https://x/cu130", "xformers"), packages)
    assert not _repeats(fix("--force-reinstall", "--no-binary", "xformers", "xformers==0.0.35"), packages)
    assert not _repeats(fix("--force-reinstall", "torch==2.15.0"), {"torch": package("torch", "2.15.0+cu126")})
    assert not _repeats(fix("git+https://github.com/x/y.git"), packages)
    both = fix("--force-reinstall", "--no-deps", "xformers")
    assert _repeats(msgspec.structs.replace(both, tasks=(*both.tasks, *fix("xformers").tasks)), packages)
