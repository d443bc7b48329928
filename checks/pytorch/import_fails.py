"""PyTorch that does not import."""

from functools import partial

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import import_errors
from gpudoctor.remedies.python import install, manager_of, reinstall_torch, torch_family, torch_verify
from gpudoctor.subjects import OnLive, lives
from gpudoctor.views.frameworks import import_problem
from gpudoctor.views.packages import release


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    hint = import_errors.hint(on.live.import_error or "")
    first = (Fix(hint.fix, action="reinstall-package", verify=torch_verify(on.python)),) if hint and hint.fix else ()
    return (*first, *(reinstall_torch(on.facts, on.python, on.framework) or _same_again(on)))


def _same_again(on: OnLive) -> tuple[Fix, ...]:
    version = on.framework.version
    spec = f"torch=={release(version)}" if isinstance(version, str) and version else "torch"
    command = install(on.python, spec, *torch_family(on.python)[1:], force=True)
    says = f"Install PyTorch again with its libraries, by {manager_of(on.python)}."
    return (Fix(says, (command,), "reinstall-package", verify=torch_verify(on.python)),)


@check(
    title="PyTorch does not import",
    severity=Severity.ERROR,
    cause="One of PyTorch's libraries, or of those that it needs, is missing, damaged or of another version.",
    fixes=_fixes,
    references=("https://pytorch.org/get-started/locally/", "https://github.com/pytorch/pytorch/issues/123097"),
    each=partial(lives, name="torch"),
    because=(
        "python.*",
        "python.numpy-2",
        "windows.dll-not-loaded",
        "libraries.*",
        "packages.*",
        "pytorch.wrong-vendor",
        "host.*",
    ),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def import_fails(on: OnLive) -> Problem | None:
    """`import torch` raises."""
    return import_problem(on)
