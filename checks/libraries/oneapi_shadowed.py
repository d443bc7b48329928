"""LD_LIBRARY_PATH makes PyTorch for Intel GPUs load parts of another oneAPI than the one in its wheels."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LiveFramework, Need
from gpudoctor.fixes import intel
from gpudoctor.fixes.loading import own_first, without_oneapi
from gpudoctor.knowledge.sonames import oneapi_wheel_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown, known, known_or, present
from gpudoctor.queries.frameworks import last_words
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, built_for, cards_of, has_dxg, in_container, torches

# The runtime's libraries, and the functions of Unified Runtime: urDeviceWaitExp.
_NAMED = pattern(r"libsycl|libur_|\bur[A-Z]\w+|LIBUR_LOADER|_ZN\w*4sycl")


def _taken(on: OnFramework) -> list[Need]:
    """The libraries of the SYCL runtime that LD_LIBRARY_PATH overrides in the environment, in another release."""
    found = []
    for need in known(on.framework.needs) if built_for(on.framework) == "intel" else ():
        overridden = need.how == "LD_LIBRARY_PATH" and need.path and need.wheel and need.path != need.wheel
        if overridden and oneapi_wheel_of(need.soname) and not _is_same(need):
            found.append(need)
    return found


def _is_same(need: Need) -> bool:
    """Whether both copies are known to be of one minor release."""
    both = (need.version, need.wheel_version)
    return None not in both and len({numbers(present(version))[:2] for version in both}) == 1


def _effect(on: OnFramework, live: LiveFramework) -> str:
    """What PyTorch did, as the end of a sentence; empty: nothing that these libraries explain.

    Raises:
        UnknownFactError: it did not get far enough to report.
    """
    if live.import_error:
        return ", with which it does not import" if _NAMED.search(live.import_error) else ""
    if live.died:
        return ", with which it crashes"
    there = cards_of(on.facts, "intel") or has_dxg(on.facts)
    return ", with which it finds no GPU" if not known(live.available) and there else ""


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    first = _taken(on)[0]
    proof = intel.verify(on.python)
    without = without_oneapi(on.facts, present(first.path), proof)
    # An image may need the rest of its oneAPI. A conda environment's lib has much that other programs must not load.
    if not in_container(on.facts) or known_or(on.python.conda, None) is not None:
        return without
    return (own_first(on.facts, present(first.wheel).rpartition("/")[0], proof), *without)


@check(
    title="LD_LIBRARY_PATH overrides the SYCL runtime of PyTorch (XPU) with another oneAPI release",
    severity=Severity.ERROR,
    cause="libsycl asks Unified Runtime for GPUs: libur_loader, and the adapters for Level Zero and OpenCL that it "
    "opens. PyTorch's wheels include all of one oneAPI release. They find each other through RUNPATH, which "
    "LD_LIBRARY_PATH overrides, so that with an activated oneAPI (setvars.sh, an image's ENV) parts of two releases "
    "meet.",
    fixes=_fixes,
    references=(
        "https://github.com/vllm-project/vllm/issues/48625",
        "https://github.com/vllm-project/vllm-omni/pull/6289",
        "https://github.com/pytorch/pytorch/issues/149953",
        "https://man7.org/linux/man-pages/man8/ld.so.8.html",
    ),
    targets=torches,
    only_with=("pythons.frameworks.needs.how=LD_LIBRARY_PATH",),
    caused_by=(
        "python.shadowed-module",
        "libraries.version-not-found",
        "intel.not-driven",
        "intel.firmware-missing",
        "intel.render-node-closed",
        "intel.no-devices-passed",
        "intel.level-zero-missing",
        "intel.level-zero-mismatch",
        "intel.selector-hides-all",
        "intel.runtime-regression",
        "intel.generation-dropped",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def oneapi_shadowed(on: OnFramework) -> Problem | None:
    """Another release of the runtime wins: an ERROR where PyTorch fails with it, ADVICE where nobody has tried."""
    taken = _taken(on)
    live = on.framework.live
    effect = _effect(on, live) if taken and live else ""
    if not taken or (live and not effect):
        return None
    first = next((need for need in taken if need.version and need.wheel_version), None)
    if first is None:
        known(Unknown(f"the release of {present(taken[0].path)} is not known"))
        return None
    folder, own = present(first.path).rpartition("/")[0], present(first.wheel).rpartition("/")[0]
    message = (
        f"{on.name} includes the SYCL runtime of oneAPI {present(first.wheel_version)} ({own}), but LD_LIBRARY_PATH "
        f"makes it load {first.soname} of oneAPI {present(first.version)} ({folder}){effect}."
    )
    output = (live.import_error or last_words(live)) if live else ""
    evidence = tuple(f"{present(need.path)} shadows {present(need.wheel)}" for need in taken)
    return Problem(message, (*evidence, output) if output else evidence, severity=None if effect else Severity.ADVICE)
