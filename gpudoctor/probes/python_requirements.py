"""Requirements between the packages that matter, and those that do not hold."""

import re
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.facts.python import Package, Unmet
from gpudoctor.formats.metadata import normalise
from gpudoctor.knowledge.wanted import matters, module_of
from gpudoctor.patterns import pattern

_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MARKER = pattern(r"(platform_system|sys_platform|platform_machine|os_name|extra)\s*==\s*[\"']([^\"']*)[\"']")
_CLAUSE = pattern(r"(==|>=|<=|!=|~=|<|>)\s*([0-9]+(?:\.[0-9]+)*)(\.\*)?$")
_PLAIN = pattern(r"[0-9]+(?:\.[0-9]+)*(?:\+.*)?$")


def unmet(packages: Sequence[Package], markers: Mapping[str, str]) -> tuple[Unmet, ...]:
    """The requirements of packages that matter on packages that matter, without extras, which do not hold.

    Args:
        packages: those installed, in the order of sys.path: of a name the first counts.
        markers: the environment markers of the examined interpreter.
    """
    installed = {package.name: package for package in reversed(packages)}
    found = [
        Unmet(package=package.name, version=package.version, requires=short, found=version)
        for package in installed.values()
        for short, version in _broken(package, installed, markers)
    ]
    return tuple(sorted(found, key=lambda each: (each.package, each.requires)))


def _broken(
    package: Package, installed: Mapping[str, Package], markers: Mapping[str, str]
) -> Iterator[tuple[str, str | None]]:
    for requirement in package.requires:
        name = _NAME.match(requirement)
        wanted = normalise(name[0]) if name else ""
        if not name or not matters(wanted):
            continue
        other = installed.get(wanted)
        if _holds_plainly(requirement[name.end() :], other, markers):
            continue
        if other is None and (package.installer == "conda" or _replaced(wanted, installed)):
            continue  # conda's own packages need no metadata of Python's
        broken = _judge(requirement, other.version if other else None, markers)
        if broken:
            yield broken, other.version if other else None


def _replaced(wanted: str, installed: Mapping[str, Package]) -> bool:
    """Whether another distribution brings the same module: onnxruntime-gpu in place of onnxruntime."""
    module = module_of(wanted)
    return module is not None and any(module_of(name) == module for name in installed)


def _holds_plainly(rest: str, other: Package | None, markers: Mapping[str, str]) -> bool:
    """Whether a requirement holds, or is for another system, beyond doubt.

    packaging takes 45 ms to import; in a healthy environment plain numbers and markers decide everything.
    """
    specifier, _, marker = rest.partition(";")
    if " or " not in marker and any(markers.get(key, "") != value for key, value in _MARKER.findall(marker)):
        return True
    specifier = re.sub(r"\[[^]]*\]", "", specifier).strip().strip("()")
    if other is None or not _PLAIN.match(other.version):
        return False
    clauses = [_CLAUSE.match(clause.strip()) for clause in specifier.split(",") if clause.strip()]
    version = _numbers(other.version.partition("+")[0])
    return all(clause is not None and _plainly(version, clause[1], clause[2], bool(clause[3])) for clause in clauses)


def _plainly(version: tuple[int, ...], operator: str, text: str, starred: bool) -> bool:
    """Whether a clause of plain numbers holds; False where this cannot tell."""
    wanted = _numbers(text)
    if starred:
        return operator == "==" and (*version, *[0] * len(wanted))[: len(wanted)] == wanted
    if operator == "~=":
        head = len(wanted) - 1
        return head > 0 and (*version, *[0] * head)[:head] == wanted[:head] and _compare(version, wanted) >= 0
    order = _compare(version, wanted)
    holds = {"==": order == 0, "!=": order != 0, ">=": order >= 0, "<=": order <= 0, "<": order < 0, ">": order > 0}
    return holds[operator]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _compare(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    length = max(len(one), len(other))
    left, right = ((*each, *[0] * (length - len(each))) for each in (one, other))
    return (left > right) - (left < right)


def _judge(requirement: str, version: str | None, markers: Mapping[str, str]) -> str | None:
    """The requirement without its marker where packaging says that it does not hold."""
    from packaging.markers import UndefinedEnvironmentName
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.version import InvalidVersion

    try:
        wanted = Requirement(requirement)
        if wanted.marker and not wanted.marker.evaluate({**markers, "extra": ""}):
            return None
        if version is not None and wanted.specifier.contains(version, prereleases=True):
            return None
    except (InvalidRequirement, InvalidVersion, UndefinedEnvironmentName):
        return None
    return f"{wanted.name}{wanted.specifier}"
