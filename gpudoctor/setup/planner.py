"""Makes the plan: from the facts of a machine and the request to steps in their order."""

from datetime import datetime, timezone

import msgspec

from gpudoctor import __version__
from gpudoctor.facts import Facts, Python
from gpudoctor.knowledge import wheels as table
from gpudoctor.maybe import present, text_of
from gpudoctor.setup import (
    blockers,
    companions,
    container,
    driver,
    environment,
    level_zero,
    rocm_cpu,
    toolkit,
    verification,
    windows,
)
from gpudoctor.setup.choice import choose
from gpudoctor.setup.conflicts import on_amd, on_cpu, refusal
from gpudoctor.setup.plan import Plan, Refusal, SetupStep, TargetPlatform, Wheel
from gpudoctor.setup.platform import ground as read
from gpudoctor.setup.request import SetupRequest
from gpudoctor.targets import NAMES
from gpudoctor.tasks.as_typed import shown

JETSON = (
    "A Jetson GPU needs NVIDIA's builds for its JetPack release: the wheels on the package index have no code for it."
)


class PlanDraft:
    """What was chosen so far."""

    def __init__(self) -> None:
        self.wheels: tuple[Wheel, ...] = ()
        self.refused: list[Refusal] = []
        self.notes: list[str] = []
        self.steps: list[SetupStep] = []
        self.python: str | None = None
        self.cuda: str | None = None
        self.driver_cuda: str | None = None
        self.driver_branch: int | None = None
        self.toolkit: str | None = None
        self.toolkit_step: SetupStep | None = None


def plan(facts: Facts, request: SetupRequest) -> Plan:
    """The plan that meets as many of the request as can be met on this machine."""
    ground, python = read(facts, request.cpu), _python(facts, request)
    by = environment.manager(request, python)
    found, names = PlanDraft(), _names(request)
    asked = (*(NAMES[name] for name in request.frameworks), *request.companions)
    there = companions.kept(ground, request, python)
    request = _wheels_of(request, there)
    if python and python.externally_managed is True and request.into:
        found.refused = [_managed(name, request) for name in asked]
    elif facts.host.platform == "jetson":
        found.refused = [_jetson(name) for name in asked]
    elif request.frameworks or there:
        if not _stopped(found, facts, ground, request, asked):
            _choose(found, facts, ground, request, python, there)
            _companions(found, facts, ground, request, there)
    elif ground.vendor == "nvidia":  # the toolkit alone: a driver that works is good enough for it
        keep = ground.driver_cuda and request.driver == "auto"
        _driver(found, facts, ground, msgspec.structs.replace(request, driver="no") if keep else request, ())
    found.refused += request.refused
    found.notes += request.replaced
    if request.cpu and read(facts).gpus:
        found.notes.append("The GPUs of this machine are not used, because CPU wheels were requested.")
    if request.container:
        _container(found, facts, ground)
    if request.toolkit is not None or request.cudnn:
        _toolkit(found, facts, ground, request, python, by)
    if any(not w.kept for w in found.wheels) and found.python:
        found.steps += environment.steps(facts, request, by, found.python, found.wheels)
    if found.toolkit_step and found.toolkit_step.group == "environment":
        found.steps.append(found.toolkit_step)
    if found.wheels and found.python:
        found.steps.append(verification.step(environment.interpreter(request, by), found.wheels, ground.kernel))
    made = Plan(
        version=__version__,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        requested=names,
        machine=ground,
        cuda=found.cuda,
        driver_cuda=found.driver_cuda,
        driver_branch=found.driver_branch,
        toolkit=found.toolkit if found.toolkit_step else None,
        python=found.python,
        manager=by,
        environment=request.place if not request.into else text_of(python.prefix) if python else "",
        interpreter=environment.interpreter(request, by),
        wheels=found.wheels,
        steps=tuple(found.steps),
        refused=tuple(found.refused),
        notes=tuple(found.notes),
        sudo=not (facts.host.user.uid == 0 or facts.host.user.sudo is False),
    )
    return windows.worded(made) if ground.kernel == "Windows" else made


def _python(facts: Facts, request: SetupRequest) -> Python | None:
    """The environment that is filled, or the Python that the user has."""
    if request.into:
        return next((p for p in facts.pythons if p.path == request.into), None)
    return next((p for p in facts.pythons if p.error is None), None)


def _pythons(request: SetupRequest, python: Python | None) -> tuple[str | None, ...]:
    """The releases of Python that may be taken, the wished one first."""
    own = python.version if python and isinstance(python.version, str) else None
    minor = ".".join(own.split(".")[:2]) if own else None
    if request.into:
        return (minor,)
    if request.python:
        return (request.python,)
    preferred = table.preferred_pythons()  # one that is out of support, or too new for most wheels, comes last
    return tuple(dict.fromkeys((minor, *preferred) if minor in preferred else (*preferred, minor)))


def _stopped(
    found: PlanDraft, facts: Facts, ground: TargetPlatform, request: SetupRequest, asked: tuple[str, ...]
) -> bool:
    """Whether something has to be fixed before the GPU of this machine can be used; then that alone is planned."""
    hopeless = ground.capabilities and not choose(ground, request.frameworks, None, (None,)).wheels
    if request.cpu or (hopeless and request.frameworks):  # no fix of the driver brings a build for this GPU
        return False
    report = blockers.examined(facts)
    entry = blockers.finding(facts, ground, report)
    if entry is None and not ground.vendor and (refused := blockers.rocm_in_wsl(facts, asked)):
        found.refused.append(refused)
        return True
    if entry is None:
        found.notes += [] if ground.vendor else [blockers.without_gpu(report)]
        return False
    found.refused.append(blockers.refusal(asked, entry))
    found.steps += [made] if (made := blockers.step(entry)) else []
    return True


def _choose(
    found: PlanDraft,
    facts: Facts,
    ground: TargetPlatform,
    request: SetupRequest,
    python: Python | None,
    there: Wheel | None,
) -> None:
    pythons = _pythons(request, python)
    if ground.vendor == "nvidia":
        _nvidia(found, facts, ground, request, pythons, there)
    else:
        if ground.vendor == "intel" and (step := level_zero.step(facts)):
            found.steps.append(step)
        _other(found, ground, request, pythons)


def _nvidia(
    found: PlanDraft,
    facts: Facts,
    ground: TargetPlatform,
    request: SetupRequest,
    pythons: tuple[str | None, ...],
    there: Wheel | None,
) -> None:
    cuda = _driver(found, facts, ground, request, pythons)
    next_to = companions.as_choice(there) if there else None
    choice = choose(ground, request.frameworks, cuda, pythons, next_to, request.torch)
    found.wheels, found.python = choice.wheels, choice.python or table.preferred_pythons()[0]
    found.cuda = str(choice.major) if choice.wheels else None
    fixed = request.into is not None
    found.refused += [
        _pinned(request) if name == "torch" and request.torch else refusal(ground, name, cuda, choice, fixed)
        for name in choice.missing
    ]


def _driver(
    found: PlanDraft, facts: Facts, ground: TargetPlatform, request: SetupRequest, pythons: tuple[str | None, ...]
) -> str | None:
    """The driver's step, if there is one; gives the CUDA release that there will be."""
    decided = driver.decide(facts, ground, request, pythons)
    found.refused += decided.refused
    found.notes += decided.notes
    if decided.step:
        found.steps.append(decided.step)
        found.driver_branch = decided.branch
    found.driver_cuda = decided.cuda
    return decided.cuda


def _other(found: PlanDraft, ground: TargetPlatform, request: SetupRequest, pythons: tuple[str | None, ...]) -> None:
    """A GPU of AMD, Intel or Apple, or none."""
    amd = ground.vendor == "amd"
    make = rocm_cpu.for_amd if amd else rocm_cpu.for_cpu
    best, wheels = pythons[0], make(ground, request.frameworks, pythons[0], request.torch)
    for python in pythons[1:]:
        more = make(ground, request.frameworks, python, request.torch)
        if len(more) > len(wheels):
            best, wheels = python, more
    found.wheels, found.python = wheels, best or table.preferred_pythons()[0]
    own = next((w.variant for w in wheels if w.variant != "cpu"), "cpu")
    found.cuda = own if wheels else None
    there = {w.framework for w in wheels}
    missing = [name for name in request.frameworks if name not in there]
    pinned = [n for n in missing if n == "torch" and request.torch]
    found.refused += [_pinned(request) for _ in pinned]
    found.refused += [on_amd(ground, n) if amd else on_cpu(ground, n, best) for n in missing if n not in pinned]
    if amd and (variable := rocm_cpu.override(ground)):
        found.notes.append(f"Set {variable} wherever PyTorch runs: it has code only for a related GPU.")


def _container(found: PlanDraft, facts: Facts, ground: TargetPlatform) -> None:
    step, refused, note = container.decide(facts, ground)
    found.steps += [step] if step else []
    found.refused += [refused] if refused else []
    found.notes += [note] if note else []


def _names(request: SetupRequest) -> tuple[str, ...]:
    """What was requested, for the plan."""
    toolkit_name = ("cuda-toolkit",) if request.toolkit is not None else ()
    return (*request.frameworks, *request.companions, *toolkit_name, *(("cudnn",) if request.cudnn else ()))


def _wheels_of(request: SetupRequest, there: Wheel | None) -> SetupRequest:
    """The request with the PyTorch that companions need, and without the one that is there and stays."""
    names = request.frameworks
    if there:
        names = tuple(name for name in names if name != "torch")
    elif request.companions and "torch" not in names:
        names = ("torch", *names)
    return msgspec.structs.replace(request, frameworks=names)


def _companions(
    found: PlanDraft, facts: Facts, ground: TargetPlatform, request: SetupRequest, there: Wheel | None
) -> None:
    """PyTorch, planned or there, with the companions that fit it."""
    torch = there or next((w for w in found.wheels if w.framework == "torch"), None)
    more: tuple[Wheel, ...] = ()
    if request.companions:
        more, refused = companions.choose(request.companions, torch, found.python, ground.kernel)
        found.refused += refused
    if torch and (more or there):
        family, others = (torch, *more), tuple(w for w in found.wheels if w.framework != "torch")
        if there and ground.vendor is None:  # a build for GPUs computes on the CPU as well, and is proven there
            family = tuple(msgspec.structs.replace(w, variant="cpu") for w in family)
        found.wheels = (*family, *others)
        own = family[0].variant
        found.cuda = found.cuda or (own[2:4] if own.startswith("cu") else own)
    if there and not more and not request.frameworks:
        found.notes.append(f"{there.why} --upgrade replaces it by the newest.")
    if torch:
        found.notes += companions.notes(facts, ground, request, more)


def _toolkit(
    found: PlanDraft,
    facts: Facts,
    ground: TargetPlatform,
    request: SetupRequest,
    python: Python | None,
    by: str,
) -> None:
    made = toolkit.decide(
        toolkit.Place(
            facts=facts,
            ground=ground,
            request=request,
            python=python,
            interpreter=environment.interpreter(request, by),
            by=by,
            wheels=found.wheels,
            driver_cuda=found.driver_cuda,
            repository=any("/compute/cuda/repos/" in shown(t) for s in found.steps for t in s.commands),
        )
    )
    found.toolkit, found.toolkit_step = made.cuda, made.step
    found.refused += made.refused
    found.notes += made.notes
    if made.step and made.step.group == "toolkit":
        found.steps.append(made.step)


def _managed(framework: str, request: SetupRequest) -> Refusal:
    why = f"{present(request.into)} is managed by the distribution (PEP 668: externally-managed-environment)."
    return Refusal(framework, why, "Omit --into: then a separate environment is created.")


def _pinned(request: SetupRequest) -> Refusal:
    asked = f"PyTorch {present(request.torch)}"
    why = f"No build of {asked} fits the GPUs, the driver and the Python of this plan."
    return Refusal(asked, why, "Leave the release out: gpudoctor setup pytorch")


def _jetson(framework: str) -> Refusal:
    guide = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"
    return Refusal(framework, JETSON, f"Install NVIDIA's wheel for this JetPack, or use NVIDIA's container: {guide}")
