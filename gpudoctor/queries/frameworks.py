"""What frameworks are there and what they said when they were imported, from facts alone."""

from collections.abc import Container, Iterator

from gpudoctor.facts import Facts, Framework, LiveFramework, Python, UnmetRequirement
from gpudoctor.knowledge.wanted import computes
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.parsers.metadata import required_name
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import built_for

_FIT = pattern(r"(?:==|~=|>=|<=)([0-9.]+)")


def one_of(python: Python, name: str) -> Framework | None:
    """A framework of the environment by its import name."""
    return next((f for f in python.frameworks if f.name == name), None)


def uses_gpu(framework: Framework | None) -> bool:
    """Whether a framework is known to be built for CUDA or ROCm."""
    return framework is not None and framework.variant in ("cuda", "rocm")


def rocm_computes(facts: Facts) -> Framework | None:
    """A framework for ROCm that uses the GPU: wheels bring a HIP runtime of their own, with all that it needs."""
    found = (f for python in facts.pythons for f in python.frameworks if built_for(f) == "amd")
    return next((f for f in found if f.live and f.live.available is True), None)


def is_sole(python: Python, framework: Framework) -> bool:
    """Whether no other framework of the environment can use a GPU: then this one has to."""
    return not any(uses_gpu(f) for f in python.frameworks if f.name != framework.name)


def compiles_kernels(facts: Facts, python: Python) -> bool:
    """Whether Triton is installed beside a PyTorch that uses the GPU here: then kernels are compiled at run time."""
    triton = any(p.name in ("triton", "pytorch-triton", "triton-nightly") for p in packages_of(python))
    if not (triton and uses_gpu(one_of(python, "torch"))):
        return False
    from gpudoctor.queries.gpus import nvidia_gpus  # each run imports this module

    return bool(nvidia_gpus(facts))


def other_triton(facts: Facts, python: Python) -> UnmetRequirement | None:
    """What PyTorch requires of Triton, where kernels are compiled here with one of another minor release.

    Its Python interface, which torch.compile uses, changes with each of them. The requirement is triton==3.3.1, and
    triton~=3.9.0 in newer releases.
    """
    of_torch = (u for u in python.unmet if u.package == "torch" and u.found is not None and is_triton(u))
    found = next((u for u in of_torch if _is_other_minor(u)), None)
    return found if found and compiles_kernels(facts, python) else None


def is_triton(unmet: UnmetRequirement) -> bool:
    """Whether Triton is what is required, by any of the names of its builds."""
    from gpudoctor.knowledge.python_rules import python_rules  # few environments have a requirement that is not met

    return required_name(unmet.requires) in python_rules().builds["triton"]


def _is_other_minor(unmet: UnmetRequirement) -> bool:
    """Whether what is there is of none of the minor releases that are named as fit."""
    named = (match[1] for match in _FIT.finditer(unmet.requires.replace(" ", "")))
    return all(numbers(unmet.found or "")[:2] != numbers(text)[:2] for text in named)


def not_tested(facts: Facts) -> tuple[str, ...]:
    """The installed packages that compute on a GPU, where there is one, and that nothing here imports."""
    if not known_or(facts.gpus, ()):
        return ()
    return tuple(sorted({name for python in facts.pythons for name in _not_imported(python)}))


def _not_imported(python: Python) -> Iterator[str]:
    """The packages that compute and of which no import is known to have succeeded."""
    imports = known_or(python.imports, ())
    done = {one.package for one in imports if one.error is None or one.later}
    left = {one.package for one in imports if one.dependent and isinstance(one.error, Unknown)}
    return (p.name for p in packages_of(python) if (computes(p.name) and p.name not in done) or p.name in left)


def other_works(python: Python, framework: Framework) -> bool:
    """Whether another framework of the environment was imported and uses a GPU: this one may be a by-product."""
    lives = (f.live for f in python.frameworks if f.name != framework.name)
    return any(live is not None and live.available is True for live in lives)


def rivals(framework: Framework, exclusive: Container[str]) -> tuple[str, ...]:
    """The installed distributions of a framework of which only one may be installed."""
    names = [framework.distribution or "", *(name for name, _ in framework.others)]
    return tuple(name for name in names if name in exclusive)


def last_words(live: LiveFramework) -> str:
    """The shortest text with which a framework refuses: the error that it named, else the last line that it wrote."""
    if live.import_error:
        return first_line(live.import_error)
    if isinstance(live.error, str) and live.error:
        return first_line(live.error)
    lines = [line.strip() for line in live.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def first_line(text: str) -> str:
    """The line of an error that says what it is; JAX puts several together."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "error" in line]
    return next(iter(telling or lines), text)[:500]
