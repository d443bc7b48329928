"""A library on LD_LIBRARY_PATH shadows the one in a framework's wheels."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework, Need
from gpudoctor.fixes.environment import without_library_path
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.maybe import Unknown, known, phrase, present
from gpudoctor.queries.libraries import family, needs_of
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnPython, framework_name, pythons


def _shadowed(framework: Framework) -> Iterator[Need]:
    """The libraries that LD_LIBRARY_PATH overrides with another version."""
    for need in needs_of(framework):
        if need.how == "LD_LIBRARY_PATH" and need.path and need.wheel and need.path != need.wheel and _differs(need):
            yield need


def _differs(need: Need) -> bool:
    """Whether versions differ enough to matter; where the file name has none, only an error can show it."""
    if not need.version or not need.wheel_version:
        return False
    return numbers(need.version)[:3] != numbers(need.wheel_version)[:3]


def _unnamed(framework: Framework, prefix: str) -> Iterator[Need]:
    """Libraries of unknown version from LD_LIBRARY_PATH, over a wheel or conda's, that the framework's error names."""
    text = _error(framework)
    for need in needs_of(framework):
        own = need.wheel or next((copy for copy in need.copies if copy.startswith(f"{prefix}/")), None)
        taken = need.how == "LD_LIBRARY_PATH" and need.path and own and need.path != own
        if taken and not _differs(need) and _is_named(need, text):
            yield msgspec.structs.replace(need, wheel=own)


def _is_named(need: Need, text: str) -> bool:
    """Whether an error mentions the library: "libcusparse.so.12" or "cuSPARSE"."""
    return family(need.soname).removeprefix("lib").lower() in text.lower()


def _error(framework: Framework) -> str:
    live = framework.live
    if live is None:
        return ""
    errors = (live.import_error, live.cudnn_error, live.error if isinstance(live.error, str) else None)
    return " ".join(error for error in errors if error)


def _older(need: Need, parts: int = 3) -> bool:
    """Whether the copy is older than the wheel's, by so many parts of the version."""
    return bool(need.version) and numbers(need.version or "")[:parts] < numbers(need.wheel_version or "")[:parts]


def _severity(framework: Framework, needs: list[Need]) -> Severity | None:
    """What this copy does to the framework; None: nothing noticeable."""
    live = framework.live
    if _error(framework):
        return Severity.ERROR
    split = any(family(n.soname).startswith("libcudnn") and n.soname.endswith(".so.8") for n in needs)
    if live is None:
        return Severity.WARNING if split or any(_older(n) for n in needs) else Severity.ADVICE
    # CUDA promises that a newer minor release of a library serves older programs, not the other way round: such a
    # copy may load and then fail in a call (https://docs.nvidia.com/deploy/cuda-compatibility/). cuDNN's parts do so
    # between patch releases too.
    cudnn = [n for n in needs if family(n.soname).startswith("libcudnn")]
    too_old = any(_older(n) for n in cudnn) or any(_older(n, 2) for n in needs)
    return Severity.WARNING if split or too_old else Severity.ADVICE


def _found(on: OnPython) -> list[tuple[Framework, list[Need]]]:
    found = []
    for framework in on.python.frameworks:
        if framework.variant == "xpu":  # libraries.oneapi-shadowed
            continue
        prefix = on.python.prefix if isinstance(on.python.prefix, str) else "//"
        needs = [*_shadowed(framework), *_unnamed(framework, prefix)]
        if needs:
            found.append((framework, needs))
    return found


def _evidence(needs: list[Need]) -> Iterator[str]:
    """What shadows what, each pair of directories once."""
    pairs: dict[str, list[str]] = {}
    for need in needs:
        wins, own = (need.path or "").rpartition("/")[0], (need.wheel or "").rpartition("/")[0]
        pair = f"{wins}{phrase(' ({})', need.version)} shadows {own}{phrase(' ({})', need.wheel_version)}"
        pairs.setdefault(pair, []).append(need.soname)
    for pair, names in pairs.items():
        yield f"{', '.join(names)}: {pair}"


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    directories = {(n.path or "").rpartition("/")[0] for _, needs in _found(on) for n in needs}
    return (without_library_path(on.facts, directories, framework_proof(on.python, _found(on)[0][0].name)),)


@check(
    title="LD_LIBRARY_PATH shadows the framework's own CUDA library",
    severity=Severity.WARNING,
    cause="The loader searches LD_LIBRARY_PATH before the wheels' directories, so an older or different copy shadows "
    "the library that the framework was built with; parts of both get mixed.",
    fixes=_fixes,
    references=(
        "https://man7.org/linux/man-pages/man8/ld.so.8.html",
        "https://github.com/pytorch/pytorch/issues/111469",
        "https://github.com/pytorch/pytorch/issues/119989",
        "https://github.com/meta-llama/llama/issues/74",
        "https://github.com/vllm-project/vllm/issues/35608",
    ),
    targets=pythons,
    only_with=("pythons.frameworks.needs.how=LD_LIBRARY_PATH",),
    caused_by=("python.shadowed-module", "python.user-site-leaks"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def shadowed_by_path(on: OnPython) -> Problem | None:
    """A copy from LD_LIBRARY_PATH is loaded instead of the wheel's, in another version."""
    found = _found(on)
    if not found:
        for framework in on.python.frameworks:
            if not isinstance(framework.variant, Unknown) and framework.variant not in ("cpu", "xpu"):
                known(framework.needs)
        return None
    framework, needs = found[0]
    named = [n for n in needs if _is_named(n, _error(framework))]
    first = max(named, key=lambda n: len(family(n.soname)), default=needs[0])
    own = f"{first.wheel_version} from {present(first.wheel)}" if first.wheel_version else present(first.wheel)
    message = (
        f"{framework_name(framework)} loads {first.soname} {first.version or ''} from LD_LIBRARY_PATH "
        f"({present(first.path).rpartition('/')[0]}) instead of its own {own}."
    ).replace("  ", " ")
    evidence = list(_evidence(needs))
    evidence += [_error(framework)[:800]] if _error(framework) else []
    severities = [s for f, n in found if (s := _severity(f, n))]
    return Problem(message, tuple(evidence[:8]), severity=min(severities, key=list(Severity).index))
