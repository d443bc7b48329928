"""Decides which smoke tests run, with which backend and on which device: a job is one process."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import msgspec

from gpudoctor.extras import install_command
from gpudoctor.facts import Facts, Framework, Python
from gpudoctor.maybe import known_or
from gpudoctor.registry import BY_MODULE, SMOKED
from gpudoctor.smoketests.devices import SmokeDevice, cpu, targets
from gpudoctor.smoketests.options import ChoiceError, SmokeOptions, validated
from gpudoctor.smoketests.suite import BY_NAME, COMPARE, STRESS_SECONDS, TESTS

# Backends by the name of the framework's module, in the order in which they run.
FRAMEWORKS = {one.module: one.area for one in SMOKED}
ORDER = {one.module: place for place, one in enumerate(SMOKED)}
MODULES = {one.area: one.module for one in SMOKED}
TITLES = {one.area: one.title for one in SMOKED} | {"driver": "the CUDA driver", "cpu": "NumPy"}
OWN_KINDS = {"driver": "cuda", "cpu": "cpu"}  # of the backends that run in our own interpreter


class SmokeJob(msgspec.Struct, frozen=True, kw_only=True):
    """One process: some tests of one backend on one device, or between all of them."""

    backend: str
    python: str  # the interpreter's path; empty: our own
    target: SmokeDevice
    tests: tuple[str, ...]
    dtypes: tuple[str, ...] = ()
    seconds: int = STRESS_SECONDS

    @property
    def title(self) -> str:
        """For people: "PyTorch on GPU 0"."""
        return f"{TITLES[self.backend]} on {self.target.label}"


def plan(facts: Facts, choice: SmokeOptions) -> tuple[SmokeJob, ...]:
    """The jobs, in the order in which they run: one after the other, so that none disturbs another's figures.

    Raises:
        ChoiceError: a chosen test, backend or device is not there, or NumPy, which a backend of our own needs.
    """
    validated(choice)
    devices = targets(facts, choice.devices)
    if isinstance(devices, str):
        raise ChoiceError(devices)
    names = choice.tests or tuple(test.name for test in TESTS if test.quick or choice.everything)
    jobs: list[SmokeJob] = []
    for backend, python, kind in _backends(facts, choice, devices):
        if backend == "driver" and not _has_numpy():
            jobs += [SmokeJob(backend=backend, python=python, target=d, tests=()) for d in devices if d.kind == kind]
            continue
        mine = tuple(t for t in devices if t.kind == kind or (t.kind == "cpu" and backend != "driver"))
        jobs += _jobs(backend, python, mine or _instead(backend, devices), names, choice)
    return tuple(_next_to_the_cpu(jobs, choice)) if COMPARE in names else tuple(jobs)


def _next_to_the_cpu(jobs: Sequence[SmokeJob], choice: SmokeOptions) -> Iterator[SmokeJob]:
    """The jobs with what `compare` needs of the CPU before that of the GPU; of several GPUs nobody chose the first.

    The CPU's part runs in the same framework, or in NumPy where that runs on GPUs alone.
    """
    there = {(job.backend, job.python) for job in jobs if job.target.kind == "cpu"}
    compared = {job.backend: job.target for job in reversed(jobs) if COMPARE in job.tests and job.target.kind != "cpu"}
    for job in jobs:
        first = job.target == compared.get(job.backend)
        if COMPARE not in job.tests or job.target.kind == "cpu":
            yield job
        elif first or choice.devices:
            own = job.backend in MODULES and BY_MODULE[MODULES[job.backend]].cpu_proof is not None
            backend, python = partner = (job.backend, job.python) if own else ("cpu", "")
            if partner not in there:
                there.add(partner)
                yield SmokeJob(backend=backend, python=python, target=cpu(), tests=(COMPARE,))
            yield job
        elif left := tuple(name for name in job.tests if name != COMPARE):
            yield msgspec.structs.replace(job, tests=left)


def no_gpu_for(facts: Facts, choice: SmokeOptions) -> bool:
    """Whether there is no GPU to test, and nobody chose the CPU in its place, by device or by backend."""
    chosen = choice.devices not in ((), ("all",)) or "cpu" in choice.backends
    return not chosen and targets(facts) == (cpu(),)


def _instead(backend: str, devices: tuple[SmokeDevice, ...]) -> tuple[SmokeDevice, ...]:
    """Where no device is of the kind that a backend was built for: one on which it says so in its own words."""
    if backend == "cpu":
        return (cpu(),)
    return (SmokeDevice(kind="cuda", label="GPU 0"),) if backend == "driver" else devices[:1]


def _jobs(
    backend: str, python: str, devices: tuple[SmokeDevice, ...], names: Sequence[str], choice: SmokeOptions
) -> Iterator[SmokeJob]:
    single = tuple(name for name in names if not BY_NAME[name].between)
    between = tuple(name for name in names if BY_NAME[name].between)
    more = {"python": python, "dtypes": choice.dtypes, "seconds": choice.seconds}
    for device in devices if single else ():
        yield SmokeJob(backend=backend, target=device, tests=single, **more)  # type: ignore[arg-type]
    if between:
        yield SmokeJob(backend=backend, target=SmokeDevice.all_of(devices), tests=between, **more)  # type: ignore[arg-type]


def _backends(facts: Facts, choice: SmokeOptions, devices: Sequence[SmokeDevice]) -> Iterator[tuple[str, str, str]]:
    """Backends with the interpreter in which each runs, and the kind of device that it was built for."""
    wanted = choice.backends or tuple(FRAMEWORKS.values())
    found = [
        (FRAMEWORKS[framework.name], python.path, _kind(framework))
        for python in facts.pythons
        for framework in sorted(python.frameworks, key=lambda f: ORDER.get(f.name, 0))
        if FRAMEWORKS.get(framework.name) in wanted and (choice.backends or _usable(framework, devices))
    ]
    for backend in choice.backends:
        if backend in MODULES and all(backend != name for name, _, _ in found):
            raise ChoiceError(f"{TITLES[backend]} is not installed for {_listed(facts.pythons)}.")
    own = [backend for backend in choice.backends if backend not in MODULES]
    if not choice.backends and not found:
        own = ["driver" if any(device.kind == "cuda" for device in devices) else "cpu"]
    if own and not _has_numpy() and not (own == ["driver"] and known_or(facts.nvidia.cuda.code, 0) != 0):
        raise ChoiceError(_no_numpy(own[0], facts, choice))
    yield from (*found, *((backend, "", OWN_KINDS[backend]) for backend in own))


def _has_numpy() -> bool:
    """Whether our own Python has NumPy; a driver that does not start shows so without it, by a job without tests."""
    return find_spec("numpy") is not None


def _no_numpy(backend: str, facts: Facts, choice: SmokeOptions) -> str:
    """Why a backend of our own interpreter cannot run there, and what adds what it needs."""
    needs = f"the backend {backend} needs NumPy, which gpudoctor's own Python lacks: {install_command('numpy')}"
    if choice.backends:
        return f"{needs[0].upper()}{needs[1:]}."
    return f"There is no framework to test in {_listed(facts.pythons)}, and {needs}."


def _kind(framework: Framework) -> str:
    """The kind of device that a framework was built for; one built for the CPU is tried on whatever there is."""
    if isinstance(framework.hip, str):
        return "rocm"
    return "cuda" if isinstance(framework.cuda, str) else "cpu"


def _usable(framework: Framework, devices: Sequence[SmokeDevice]) -> bool:
    """Whether it makes sense to try: what runs on GPUs alone reports so when it is asked for by name."""
    return BY_MODULE[framework.name].cpu_proof is not None or any(device.kind != "cpu" for device in devices)


def _listed(pythons: Sequence[Python]) -> str:
    return " and ".join(python.path for python in pythons) or "any Python that was found"
