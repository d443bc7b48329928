"""The loader finds a CUDA runtime of another major version than PyTorch's, and a package refuses two of them."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import DriverLibrary, Package
from gpudoctor.fixes.environment import without_library_path
from gpudoctor.fixes.loader_configuration import is_of_the_system, out_of_the_configuration
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.python_rules import OneRuntime, python_rules
from gpudoctor.maybe import known, present
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import major, numbers, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, framework_name, pythons
from gpudoctor.tasks import filtered, query


class _Found(msgspec.Struct, frozen=True):
    """The package, its row, PyTorch's own runtime, and the other one wherever the loader finds it."""

    package: Package
    row: OneRuntime
    own: str
    others: tuple[DriverLibrary, ...]


def _found(on: OnPython) -> _Found | None:
    there, torch = {p.name: p for p in packages_of(on.python)}, one_of(on.python, "torch")
    release = torch.cuda if torch else None
    wanted = major(release) if isinstance(release, str) else None
    if wanted is None:
        return None
    for row in python_rules().one_runtime:
        one = there.get(row.package)
        own = next((soname for soname in row.sonames if soname.endswith(f".{wanted}")), None)
        if one is None or own is None or not numbers(row.since) <= numbers(one.version) < numbers(row.before):
            continue
        libraries = known(on.facts.toolkits.libraries)
        others = tuple(x for x in libraries if x.soname in row.sonames and x.soname != own and x.kind != "stub")
        if others:
            return _Found(one, row, own, others)
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = present(_found(on))
    proof = filtered(query("ldconfig", "-p"), query("grep", "libcudart"))
    by_variable = [x.path.rpartition("/")[0] for x in found.others if x.found_by == "LD_LIBRARY_PATH"]
    by_cache = [x.path.rpartition("/")[0] for x in found.others if x.found_by != "LD_LIBRARY_PATH"]
    fixes = [without_library_path(on.facts, by_variable)] if by_variable else []
    if by_cache and not any(is_of_the_system(folder) for folder in by_cache):
        message = (
            f"Take the other runtime ({found.others[-1].soname}) out of the loader's configuration. Programs that were "
            "built with that toolkit then need its directory in LD_LIBRARY_PATH."
        )
        fixes.append(out_of_the_configuration(on.facts, by_cache, message, proof))
    message = (
        f"Upgrade it to {found.row.before} or newer, which takes the first of the two: its part for PyTorch is then "
        f"compiled, which needs nvcc.{lasting(on.facts)}"
    )
    spec = f"{found.row.spec.format(major=found.own.rpartition('.')[2])}>={found.row.before}"
    command = install(on.python, spec, upgrade=True, options=("--no-build-isolation",))
    return (*fixes, Fix(message, (command,), "reinstall-package"))


@check(
    title="Two CUDA runtimes: RuntimeError: Multiple libcudart libraries found",
    severity=Severity.WARNING,
    cause="cuDNN's frontend, which Transformer Engine contains, opens libcudart.so.12 and libcudart.so.13 by name. In "
    "these releases it stops where both can be opened: PyTorch's own, which is loaded already, and one of the other "
    "major version from a toolkit in LD_LIBRARY_PATH or in the loader's configuration (/etc/ld.so.conf.d).",
    fixes=_fixes,
    references=(
        "https://github.com/nv-tlabs/Cosmos-Drive-Dreams/issues/40",
        "https://github.com/NVIDIA/cudnn-frontend/issues/211",
    ),
    targets=pythons,
    only_with=(ANY_GPU, f"pythons.packages.name={names(row.package for row in python_rules().one_runtime)}"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def two_cuda_runtimes(on: OnPython) -> Problem | None:
    """Such a package, PyTorch for one CUDA major, and the loader finds the runtime of the other."""
    torch = one_of(on.python, "torch")
    found = _found(on) if nvidia_gpus(on.facts) and torch and uses_gpu(torch) else None
    if found is None or torch is None:
        return None
    other = found.others[0]
    where = "on LD_LIBRARY_PATH" if other.found_by == "LD_LIBRARY_PATH" else "in the loader's cache"
    return Problem(
        f"{framework_name(torch)} loads {found.own}, and the loader finds {other.soname} too ({other.path}, {where}): "
        f"{found.row.what} of {found.package.name} {found.package.version} stops with RuntimeError: Multiple libcudart "
        "libraries found.",
        tuple(x.path for x in found.others),
    )
