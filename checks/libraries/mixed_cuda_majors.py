"""NVIDIA wheels for a CUDA major version that nothing in the environment needs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import uninstall
from gpudoctor.queries.packages import packages_of, wheels
from gpudoctor.targets import OnPython, pythons

_NAMED = 4  # of them, in the message


def _leftovers(on: OnPython) -> list[Package]:
    """Wheels named for a CUDA major that no framework is built for and no package requires."""
    majors = {str(f.cuda).partition(".")[0] for f in on.python.frameworks if isinstance(f.cuda, str)}
    asked = " ".join(line for p in packages_of(on.python) for line in p.requires)
    return [p for p in wheels(on.python) if _suffix(p.name) not in (majors | {""}) and p.name not in asked]


def _suffix(name: str) -> str:
    tail = name.rpartition("-cu")[2]
    return tail if "-cu" in name and tail.isdigit() else ""


@check(
    title="Leftover NVIDIA wheels of another CUDA major version",
    severity=Severity.ADVICE,
    cause="Usually a framework for another CUDA major version was installed before, and its libraries stayed. They "
    "take up disk space, and some contain the same files as the new ones.",
    fixes=lambda on: (
        Fix(
            "Remove the leftover wheels.",
            (uninstall(on.python, *(p.name for p in _leftovers(on))),),
            "reinstall-package",
        ),
    ),
    references=("https://github.com/pytorch/pytorch/issues/186591",),
    targets=pythons,
    only_with=("pythons.frameworks.cuda",),
    # What a framework of another major replaces is none of its own, and may be what the right one needs.
    caused_by=("python.*", "libraries.overlapping-wheels", "onnxruntime.wrong-cuda-major", "cupy.wrong-cuda-major"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def mixed_cuda_majors(on: OnPython) -> Problem | None:
    """Wheels of one CUDA major that nothing requires, with frameworks of another."""
    left = _leftovers(on)
    if len(left) < 3 or not any(isinstance(f.cuda, str) for f in on.python.frameworks):
        return None
    names = ", ".join(f"{p.name} {p.version}" for p in left[:_NAMED])
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return Problem(
        f"{len(left)} NVIDIA wheels are for a CUDA major version that no framework here is built for: {names}{more}."
    )
