"""A package that is built for another CUDA major than PyTorch: the build of one of both that fits the other."""

from gpudoctor.check_engine import Fix
from gpudoctor.fixes.python import another_build, install, lasting
from gpudoctor.fixes.torch_build import driver_cuda, torch_family
from gpudoctor.knowledge import torch as torch_table
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.maybe import known_or, text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import numbers, packages_of, release
from gpudoctor.targets import OnPython, compute_gpus
from gpudoctor.tasks import Task


def for_one_cuda(
    on: OnPython, package: str, version: str, wanted: set[str], proof: Task | None = None
) -> tuple[Fix, ...]:
    """Let PyTorch and a package that is compiled against it be of one CUDA major; empty where no table knows how.

    Args:
        on: the environment.
        package: the package.
        version: its installed version.
        wanted: the CUDA majors of the libraries that it needs.
        proof: what shows that it helped.
    """
    torch, family = one_of(on.python, "torch"), torch_family(on.python)
    own = text_of(torch.cuda if torch else None).partition(".")[0]
    if torch is None or not own or not is_extension(package) or package in family:
        return ()
    there = {p.name: p for p in packages_of(on.python)}
    if any(there[name].installer == "conda" for name in (*family, package) if name in there):
        return ()  # conda chooses the builds
    row = python_rules().cuda_index.get(package)
    build = next((b for b in row.builds if _major(b) == own), None) if row else None
    if row and build and numbers(version) >= numbers(row.since):
        message = f"Install the build of {package} {release(version)} for CUDA {own}, from its own index."
        spec, index = f"{package}=={release(version)}", row.index.format(build=build)
        command = install(on.python, spec, index=index, force=True, no_deps=True)
        return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=proof),)
    driver, build_row = driver_cuda(on.facts), torch_table.release(text_of(torch.version))
    capabilities = tuple(text_of(gpu.capability) for gpu in compute_gpus(on.facts, "nvidia"))
    if build_row is None or driver is None or not all(capabilities):
        return ()
    fitting = torch_table.wheels_for(capabilities, driver, machine=known_or(on.facts.host.architecture, "x86_64"))
    runs = [one.variant for one in fitting if one.version == build_row.version and _major(one.variant) in wanted]
    if not runs:
        return ()
    variant = max(runs, key=lambda v: numbers(torch_table.cuda_of_variant(v) or "0"))
    specs = [f"{name}=={release(there[name].version)}" if name in there else name for name in family]
    message = f"Install PyTorch's build for CUDA {_major(variant)} in the same release, as {package} is built for it."
    commands = another_build(on.python, *specs, index=torch_table.index_of(variant))
    return (Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package", verify=proof),)


def _major(variant: str) -> str:
    """The CUDA major of a build: "cu129" is "12"; "" for one of another vendor."""
    return (torch_table.cuda_of_variant(variant) or "").partition(".")[0]
