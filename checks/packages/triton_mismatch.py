"""Another Triton than PyTorch pins."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.maybe import present
from gpudoctor.queries.frameworks import other_triton
from gpudoctor.targets import OnPython, pythons


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    broken = other_triton(on.facts, on.python)
    if broken is None:
        return ()
    code = 'import torch; print(torch.compile(lambda x: x * 2)(torch.ones(8, device="cuda")))'
    message = f"Install the Triton that this PyTorch was built with.{lasting(on.facts)}"
    command = install(on.python, broken.requires.replace(" ", ""))
    return (Fix(message, (command,), "reinstall-package", verify=verify(on.python, code)),)


@check(
    title="Triton version does not match PyTorch",
    severity=Severity.WARNING,
    cause="torch.compile calls Triton's internal functions, which change between releases, so PyTorch pins one; "
    "another package, or `pip install -U triton`, changed it: \"cannot import name 'AttrsDescriptor' (or 'triton_key') "
    "from 'triton.compiler.compiler'\". Eager code works.",
    fixes=_fixes,
    references=(
        "https://github.com/triton-lang/triton/issues/5722",
        "https://github.com/pytorch/pytorch/issues/152531",
    ),
    targets=pythons,
    only_with=("pythons.unmet",),
    caused_by=("packages.builds-overwrite",),
    affects=("extensions",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def triton_mismatch(on: OnPython) -> Problem | None:
    """PyTorch's requirement of Triton is violated by more than a patch release."""
    broken = other_triton(on.facts, on.python)
    if broken is None:
        return None
    return Problem(f"torch {broken.version} requires {broken.requires}, but {present(broken.found)} is installed.")
