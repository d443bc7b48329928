"""A user without an account, whose name PyTorch's compiler asks for."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.torch_build import torch_since
from gpudoctor.fixes.variables import assign, places
from gpudoctor.knowledge.torch import torch
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.loading import failures
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, gpus_of, torches

_ERROR = "getpwuid(): uid not found"
_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


def _failing(on: OnFramework) -> list[tuple[str, str]]:
    """The modules whose import failed over it, each with the error."""
    return [(one.module, error) for one, error in failures(on.python) if _ERROR in error]


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    fixed = torch().inductor.named_before
    proof = verify(on.python, "import getpass; print(getpass.getuser())")
    name = f"Set USER, to any name, where the program gets its environment: {places(on.facts)}."
    other = "Start the program as a user that the image has (runAsUser, --user), whose home it can write to."
    newer, builds = f"PyTorch {fixed} and newer need no name.", torch_since(on.facts, on.python, fixed)
    return (
        assign("USER", "gpu", name, proof),
        Fix(other, needs="restart of the program", verify=proof),
        *(msgspec.structs.replace(one, message=f"{newer} {one.message}") for one in builds),
    )


@check(
    title="The user has no name, which PyTorch's compiler asks for: getpwuid(): uid not found",
    severity=Severity.WARNING,
    cause="PyTorch's compiler (Inductor) names its cache after the user: Python's getpass.getuser() looks in LOGNAME, "
    "USER, LNAME and USERNAME, then for the account of the user's number. A container that is started with a number "
    "of its own (--user, runAsUser, OpenShift) has neither. torch.compile then raises KeyError, and so does what "
    "prepares it when it is imported, such as vLLM.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/140765",
        "https://github.com/pytorch/pytorch/pull/184208",
        "https://github.com/vllm-project/vllm/issues/44548",
    ),
    targets=torches,
    only_with=("gpus host.user.login? pythons.frameworks.version?",),
    affects=("wheels", "extensions"),
    validated_on=("simulated 2026-11",),
)
def user_without_name(on: OnFramework) -> Problem | None:
    """No name for the user, and a PyTorch that needs one; an import that failed over it shows that it does."""
    number = known(on.framework.version)
    if number is None or numbers(number) >= numbers(torch().inductor.named_before) or not gpus_of(on.facts):
        return None
    failing = _failing(on)
    if known(on.facts.host.user.login) or (_FOLDER in on.facts.host.environment and not failing):
        return None
    message = (
        f"User{phrase(' {}', on.facts.host.user.uid)} has no name: no account, and neither USER nor LOGNAME is set. "
        f"The compiler of {on.name} needs one"
    )
    if not failing:
        return Problem(f"{message}: torch.compile fails with KeyError: '{_ERROR}'.")
    modules = " and ".join(f"import {module}" for module, _ in failing[:3])
    return Problem(f"{message}: {modules} fails.", tuple(e[:500] for _, e in failing[:3]), severity=Severity.ERROR)
