"""torchvision, torchaudio and torchcodec: the releases that fit the PyTorch of the plan, from the same index."""

from collections.abc import Iterator

import msgspec

from gpudoctor.facts import Facts, Framework, Python
from gpudoctor.fixes.extensions import torch_index
from gpudoctor.fixes.system import install
from gpudoctor.knowledge import torch as table
from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.knowledge.python_rules import companion_for, python_rules
from gpudoctor.maybe import known_or, present
from gpudoctor.queries.packages import is_own_build, release
from gpudoctor.setup.plan import Refusal, TargetPlatform, Wheel
from gpudoctor.setup.request import SetupRequest
from gpudoctor.tasks.as_typed import on_windows, one_line


def kept(ground: TargetPlatform, request: SetupRequest, python: Python | None) -> Wheel | None:
    """The PyTorch of the environment that is filled, where it serves this machine: it stays as it is; else None."""
    wanted = bool(request.companions) or "torch" in request.frameworks
    there = torch_of(python) if wanted and request.into and not request.upgrade else None
    if python is None or there is None or is_own_build(present(there.version)):
        return None
    number, build = present(there.version), _build(there)
    wanted = request.torch is None or f"{release(number)}.".startswith(f"{request.torch}.")
    if build is None or not wanted or not _serves(ground, number, build):
        return None
    return Wheel(
        framework="torch",
        requirement=f"torch=={release(number)}",
        variant=build,
        index=torch_index(python, there),
        why=f"PyTorch {number} is installed and fits this machine: it stays as it is.",
        kept=True,
    )


def as_choice(wheel: Wheel) -> table.TorchChoice:
    """A PyTorch that is there as the table names builds: by its minor release."""
    return table.TorchChoice(".".join(wheel.requirement.partition("==")[2].split(".")[:2]), wheel.variant)


def torch_of(python: Python | None) -> Framework | None:
    """The PyTorch of an environment, whose version is known."""
    found = python.frameworks if python else ()
    return next((f for f in found if f.name == "torch" and isinstance(f.version, str)), None)


def _build(there: Framework) -> str | None:
    """Which build it is: "cu128", "rocm7.2", "xpu" or "cpu"; None: not known."""
    local = present(there.version).partition("+")[2]
    if local:
        return local
    if isinstance(there.cuda, str) and there.cuda.count(".") == 1:
        return table.cuda_variant(there.cuda)
    return "cpu" if known_or(there.variant, None) in ("cpu", "mps") else None


def _serves(ground: TargetPlatform, number: str, build: str) -> bool:
    """Whether a build computes on these GPUs, and on this driver where there is one."""
    if ground.vendor == "nvidia":
        targets = table.targets_of(number, build, ground.architecture or "x86_64")
        runs = ground.driver_cuda is None or table.driver_runs(build, ground.driver_cuda)
        return bool(targets) and runs and all(coverage(targets or "", one) for one in ground.capabilities)
    return {"amd": build.startswith("rocm"), "intel": build == "xpu"}.get(ground.vendor or "", True)


def choose(
    names: tuple[str, ...], torch: Wheel | None, python: str | None, kernel: str | None
) -> tuple[tuple[Wheel, ...], tuple[Refusal, ...]]:
    """The companions that fit a PyTorch, and those that do not exist for it.

    Args:
        names: their import names.
        torch: the PyTorch; None: there is none.
        python: the release of Python, "3.12".
        kernel: of the machine: Linux, Windows, Darwin.
    """
    if torch is None:
        why = "It needs PyTorch, which is not available here."
        return (), tuple(Refusal(name, why, "See PyTorch.") for name in names)
    number = torch.requirement.partition("==")[2].removesuffix(".*")
    found: list[Wheel] = []
    refused: list[Refusal] = []
    for name in names:
        spec = companion_for(name, number)
        if spec is None:
            why = f"No release of {name} for PyTorch {number} is known."
            refused.append(Refusal(name, why, "Use a newer PyTorch."))
        elif why := _lacks(name, spec, torch, python):
            refused.append(Refusal(name, why, _instead(name, torch)))
        else:
            index = None if name == "torchcodec" and kernel != "Linux" else torch.index
            which = spec.lstrip("=>").removesuffix(".*") + (" and newer are" if spec.startswith(">") else " is")
            why = f"{name} {which} for PyTorch {number}."
            found.append(
                Wheel(framework=name, requirement=f"{name}{spec}", variant=torch.variant, index=index, why=why)
            )
    return tuple(found), tuple(refused)


def _lacks(name: str, spec: str, torch: Wheel, python: str | None) -> str:
    """Why torchaudio's last release cannot be had for a build of PyTorch; "": it can."""
    rules = python_rules().torchaudio
    last = rules.same_number[1]
    if name != "torchaudio" or spec != f"=={last}.*":
        return ""
    lowest, highest = rules.last_python
    if torch.index and torch.variant not in rules.last_builds:
        return f"torchaudio's last release ({last}) has no build for {_cuda(torch.variant)}."
    if python and not version(lowest) <= version(python)[:2] <= version(highest):
        return f"torchaudio's last release ({last}) has wheels for Python {lowest} to {highest}, not {python}."
    return ""


def _cuda(variant: str) -> str:
    cuda = table.cuda_of_variant(variant)
    return f"CUDA {cuda}" if cuda else variant


def _instead(name: str, torch: Wheel) -> str:
    if torch.kept:
        return f"Install PyTorch for CUDA 13.0 (whl/cu130) and {name} together, or use torchcodec, which reads audio."
    return "Use torchcodec, which reads audio (gpudoctor setup torchcodec), or another Python (--python-version 3.12)."


def notes(facts: Facts, ground: TargetPlatform, request: SetupRequest, wheels: tuple[Wheel, ...]) -> Iterator[str]:
    """What else is to be known of them, and of a PyTorch that is elsewhere."""
    if any(w.framework == "torchcodec" for w in wheels):
        command = one_line(install(facts, "ffmpeg"), facts.host.user.uid != 0)
        yield "torchcodec decodes with the FFmpeg of the system" + (f": {command}" if command else ".")
    python = next((p for p in facts.pythons if p.error is None), None)
    own = torch_of(python)
    if python and own and not request.into:
        place = known_or(python.prefix, None) or python.path
        place = on_windows(place) if ground.kernel == "Windows" else place
        fits = kept(ground, msgspec.structs.replace(request, into=python.path), python)
        what = "and adds what is missing there" if request.companions else "and verifies it"
        yield f"PyTorch {present(own.version)} is installed in {place}" + (
            f" and fits this machine: --into {place} leaves it as it is, {what}."
            if fits
            else f" and does not fit this machine: --into {place} replaces it there."
        )
