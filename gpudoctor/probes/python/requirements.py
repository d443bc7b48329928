"""Requirements of the packages that matter, and of what they require in turn, and those that do not hold."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpudoctor.facts.python import Package, UnmetRequirement
from gpudoctor.knowledge.wanted import matters, module_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.parsers.metadata import normalise

_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRAS = pattern(r"\s*\[([^]]*)\]")
_MARKER = pattern(r"(\w+)\s*(==|>=|<=|!=|<|>)\s*[\"']([^\"']*)[\"']")
_TEXTS = ("platform_system", "sys_platform", "platform_machine", "os_name", "platform_python_implementation", "extra")
_CLAUSE = pattern(r"(==|>=|<=|!=|~=|<|>)\s*([0-9]{1,9}(?:\.[0-9]{1,9})*)(\.\*)?$")
_NUMBERS = pattern(r"[0-9]{1,9}(?:\.[0-9]{1,9})*$")
_PLAIN = pattern(r"[0-9]{1,9}(?:\.[0-9]{1,9})*(?:\+.*)?$")

Requires = Callable[[Package], Sequence[str]]


def unmet(
    packages: Sequence[Package], markers: Mapping[str, str], requires: Requires | None = None
) -> tuple[UnmetRequirement, ...]:
    """The requirements that do not hold: of the packages that matter, and of all that they lead to.

    Optional ones count where an installed package asks for them: "ray[serve]" makes those of ray's extra serve
    requirements.

    Args:
        packages: those installed, in the order of sys.path: of a name the first counts.
        markers: the environment markers of the examined interpreter.
        requires: gives what a package requires; None: its own `requires`, which only those that matter have.
    """
    installed = {package.name: package for package in reversed(packages)}
    read = requires or (lambda package: package.requires)
    extras: dict[str, set[str]] = {name: {""} for name in installed if matters(name)}
    found: dict[tuple[str, str], UnmetRequirement] = {}
    todo = [(installed[name], "") for name in extras]
    while todo:
        package, extra = todo.pop()
        here = {**markers, "extra": extra}
        for requirement in read(package):
            if _marker_plainly(requirement.partition(";")[2], here) is False:  # most are of extras that nobody wants
                continue
            name, asked = _wanted(requirement)
            if not name or (extra and not re.search(r"\bextra\b", requirement)):
                continue
            if name in installed and not extras.get(name, set()) >= asked and _concerns(requirement, here):
                todo += [(installed[name], one) for one in asked - extras.setdefault(name, set())]
                extras[name] |= asked
            if broken := _broken(package, requirement, name, installed, here):
                found[package.name, broken.requires] = broken
    return tuple(sorted(found.values(), key=lambda each: (each.package, each.requires)))


def _wanted(requirement: str) -> tuple[str, set[str]]:
    """The name of what is required, and the extras asked of it; "" stands for the package without any."""
    name = _NAME.match(requirement)
    extras = _EXTRAS.match(requirement, name.end()) if name else None
    asked = {part.strip() for part in extras[1].split(",")} if extras else set[str]()
    return normalise(name[0]) if name else "", asked | {""}


def _concerns(requirement: str, markers: Mapping[str, str]) -> bool:
    """Whether a requirement's marker holds here."""
    plainly = _marker_plainly(requirement.partition(";")[2], markers)
    return _marker_holds(requirement, markers) if plainly is None else plainly


def _broken(
    package: Package, requirement: str, name: str, installed: Mapping[str, Package], markers: Mapping[str, str]
) -> UnmetRequirement | None:
    other, rest = installed.get(name), _EXTRAS.sub("", requirement[_NAME.match(requirement).end() :], 1)  # type: ignore[union-attr]
    if _holds_plainly(rest, other, markers):
        return None
    if other is None and (package.installer == "conda" or _replaced(name, installed)):
        return None  # conda's own packages need no metadata of Python's
    version = other.version if other else None
    if version == "" or not (broken := _judge(requirement, version, markers)):
        return None  # an .egg-info without a version tells nothing
    return UnmetRequirement(package=package.name, version=package.version, requires=broken, found=version)


def _replaced(wanted: str, installed: Mapping[str, Package]) -> bool:
    """Whether another distribution brings the same module: onnxruntime-gpu in place of onnxruntime."""
    module = module_of(wanted)
    return module is not None and any(module_of(name) == module for name in installed)


def _holds_plainly(rest: str, other: Package | None, markers: Mapping[str, str]) -> bool:
    """Whether a requirement holds, or is for another system, beyond doubt.

    packaging takes 45 ms to import; in a healthy environment plain numbers and markers decide everything.
    """
    specifier, _, marker = rest.partition(";")
    if _marker_plainly(marker, markers) is False:
        return True
    specifier = specifier.strip().strip("()")
    if other is None or not _PLAIN.match(other.version):
        return False
    clauses = [_CLAUSE.match(clause.strip()) for clause in specifier.split(",") if clause.strip()]
    version = _numbers(other.version.partition("+")[0])
    return all(clause is not None and _plainly(version, clause[1], clause[2], bool(clause[3])) for clause in clauses)


def _marker_plainly(marker: str, markers: Mapping[str, str]) -> bool | None:
    """Whether a marker holds, where that is beyond doubt without packaging; None where it is not.

    NVIDIA's cuda-toolkit has 70, of systems and extras, which are read once for each extra that PyTorch asks for:
    packaging took a tenth of a second.
    """
    marker = marker.strip()
    if not marker:
        return True
    for word, decides in ((" or ", True), (" and ", False)):  # "and" binds closer
        parts = _parts(marker, word)
        if parts[1:]:
            # The last is mostly the extra, which nobody asks for: then the others need not be looked at.
            found = (_marker_plainly(part, markers) for part in reversed(parts))
            return _decided(found, decides)
    if marker[0] == "(" and marker[-1] == ")":
        return _marker_plainly(marker[1:-1], markers)
    return _clause_plainly(marker, markers)


def _decided(found: Iterable[bool | None], decides: bool) -> bool | None:
    """What decides as soon as one of them is that; None where it could be one that is beyond us."""
    unclear = False
    for one in found:
        if one is decides:
            return one
        unclear = unclear or one is None
    return None if unclear else not decides


def _parts(marker: str, word: str) -> list[str]:
    """What a word separates, outside of parentheses."""
    parts: list[str] = []
    for piece in marker.split(word):
        if parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += word + piece
        else:
            parts.append(piece)
    return parts


def _clause_plainly(clause: str, markers: Mapping[str, str]) -> bool | None:
    match = _MARKER.fullmatch(clause)
    if match is None:
        return None
    name, how, text = match.groups()
    ours = markers.get(name, "")
    if name == "python_version" and _NUMBERS.match(ours) and _NUMBERS.match(text):
        return _plainly(_numbers(ours), how, text, False)
    return (ours == text) == (how == "==") if name in _TEXTS and how in ("==", "!=") else None


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


def _marker_holds(requirement: str, markers: Mapping[str, str]) -> bool:
    """Whether packaging says that a requirement is for this system, Python and extra."""
    from packaging.requirements import Requirement

    try:
        marker = Requirement(requirement).marker
        return marker is None or marker.evaluate({"extra": "", **markers})
    except ValueError:  # as all of packaging's errors are; and a number that is too long for int
        return False


def _judge(requirement: str, version: str | None, markers: Mapping[str, str]) -> str | None:
    """The requirement without its marker where packaging says that it does not hold."""
    from packaging.requirements import Requirement

    if not _marker_holds(requirement, markers):
        return None
    try:
        wanted = Requirement(requirement)
        if version is not None and (wanted.url or wanted.specifier.contains(version, prereleases=True)):
            return None
    except ValueError:
        return None
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    return f"{wanted.name}{extras}{wanted.specifier}"
