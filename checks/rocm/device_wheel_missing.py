"""A PyTorch whose kernels are in wheels of their own, without the one for this GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.release_families import release_families
from gpudoctor.maybe import known, text_of
from gpudoctor.parsers.metadata import normalise
from gpudoctor.queries.gfx import amd_pairs, bare
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnPair


def _lacking(on: OnPair, gfx: str) -> list[Package]:
    """PyTorch and torchvision, where they list a wheel for this GPU and neither it nor one for its family is there."""
    there, found = packages_of(on.python), []
    for name, prefix in release_families().device_wheels.prefixes.items():
        owner = next((p for p in there if p.name == name), None)
        listed = owner is not None and any(_device(line, prefix) == gfx for line in owner.requires)
        installed = {p.name.removeprefix(prefix) for p in there if p.name.startswith(prefix)}
        if owner and listed and not any(gfx.startswith(one) or one == "all" for one in installed):
            found.append(owner)
    return found


def _device(requirement: str, prefix: str) -> str:
    """The GPU of a requirement: "gfx1151" of "amd-torch-device-gfx1151==2.13.0 ; extra == 'device-gfx1151'"."""
    name = normalise(requirement)
    return name.removeprefix(prefix).partition("=")[0].split()[0].strip(";") if name.startswith(prefix) else ""


def _fixes(on: OnPair) -> tuple[Fix, ...]:
    gfx = bare(text_of(on.gpu.gfx))
    lacking = _lacking(on, gfx)
    release = lacking[0].version.partition("+rocm")[2]
    index = release_families().device_wheels.index.get(str(next(iter(numbers(release)), "")))
    specs = [f"{p.name}[device-{gfx}]=={p.version}" for p in lacking]
    commands = (install(on.python, *specs, index=index),) if index else ()
    where = "" if index else ", from the index that PyTorch came from"
    message = f"Install {' and '.join(specs)}{where}, which brings the kernels for {gfx}.{lasting(on.facts)}"
    return (Fix(message, commands, "reinstall-package", verify=verify(on.python, BY_MODULE["torch"].proof)),)


@check(
    title="PyTorch's wheel with the kernels for this AMD GPU is not installed",
    severity=Severity.ERROR,
    cause="AMD's multi-arch wheels of PyTorch hold no GPU code: the kernels of each GPU are in a wheel of their own, "
    "which pip installs only with the extra of that name. Without it every kernel fails: hipErrorInvalidImage, "
    "hipErrorNoBinaryForGpu.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/TheRock/blob/main/RELEASES.md",
        "https://github.com/ROCm/TheRock/issues/7839",
    ),
    targets=amd_pairs,
    caused_by=("python.*", "rocm.not-loaded", "pytorch.wrong-vendor"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def device_wheel_missing(on: OnPair) -> Problem | None:
    """Its metadata lists a wheel for this GPU's target, and none for it or its family is installed."""
    gfx = known(on.gpu.gfx)
    known(on.python.packages)
    lacking = _lacking(on, bare(gfx)) if gfx and on.framework.name == "torch" else []
    if not lacking:
        return None
    first = lacking[0]
    wheel = release_families().device_wheels.prefixes[first.name] + bare(gfx or "")
    return Problem(f"{first.name} {first.version} is installed without {wheel}: it has no kernels for this GPU.")
