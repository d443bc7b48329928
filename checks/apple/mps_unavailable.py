"""PyTorch built for Apple GPUs does not use this one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install
from gpudoctor.knowledge import apple
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, known_or, phrase, present
from gpudoctor.queries.apple import mac_torches
from gpudoctor.targets import OnLive
from gpudoctor.tasks import query


def _floor(on: OnLive) -> str | None:
    """The macOS that this PyTorch needs, where this one is older."""
    torch, macos = known_or(on.framework.version, None), known_or(on.facts.apple.macos, None)
    floor = apple.macos_for(torch) if torch and torch[:1].isdigit() else None
    return floor if floor and macos and version(macos) < version(floor) else None


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    proof = query(on.python.path, "-c", 'import torch; print(torch.ones(1, device="mps"))')
    floor = _floor(on)
    if floor is None:
        message = (
            "Try it in a local Terminal on the Mac: the sandboxes of coding agents, some remote sessions and virtual "
            "machines have no Metal device."
        )
        return (Fix(message, (query("system_profiler", "SPDisplaysDataType"),), impact="none", verify=proof),)
    update = Fix(
        f"Update macOS to {floor} or newer.",
        (query("softwareupdate", "--list"),),
        "reboot",
        needs="reboot",
        verify=proof,
    )
    before = apple.torch_before(present(on.facts.apple.macos))
    if before is None:
        return (update,)
    older = (install(on.python, f"torch<{before}"),)
    return (
        update,
        Fix("Install a PyTorch version that supports this macOS.", older, "reinstall-package", verify=proof),
    )


@check(
    title="MPS is not available: PyTorch does not use the Apple GPU",
    severity=Severity.ERROR,
    cause="The MPS device needs a macOS with the Metal features that this PyTorch release uses, and a session with a "
    "Metal device.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/164943",
        "https://github.com/openai/codex/issues/10199",
        "https://docs.pytorch.org/docs/stable/notes/mps.html",
    ),
    targets=mac_torches,
    caused_by=("apple.rosetta-python", "python.*"),
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def mps_unavailable(on: OnLive) -> Problem | None:
    """It reports that MPS is built in but not available, on a Mac with an Apple GPU."""
    live = on.live
    if live.import_error or live.died or live.hung or known(live.available) or known(live.mps_built) is not True:
        return None
    if known(on.facts.apple.silicon) is not True:
        return None
    floor = _floor(on)
    why = phrase(": it needs macOS {}, and this is {}", floor, on.facts.apple.macos)
    return Problem(f"{on.name} is built for the Apple GPU but reports that MPS is not available{why}.")
