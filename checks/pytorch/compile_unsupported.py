"""torch.compile of a PyTorch that is older than the support for its Python."""

import msgspec

from gpudoctor.check_engine import Fix, Severity, check, names
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.torch_build import torch_since
from gpudoctor.knowledge.torch import releases_that_compile_less, torch
from gpudoctor.maybe import known, present
from gpudoctor.queries.packages import numbers, python_minor
from gpudoctor.targets import ANY_GPU, OnFramework, torches


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    minor = present(python_minor(on.python))
    first = torch().compiles[minor]
    proof = verify(on.python, "import torch; print(torch.compile(torch.sin)(torch.ones(9, device='cuda')).sum())")
    older = "Make an environment with an older Python, and install the same packages there."
    newer, builds = f"PyTorch {first} and newer compile on it.", torch_since(on.facts, on.python, first)
    return (
        *(msgspec.structs.replace(one, message=f"{newer} {one.message}", verify=proof) for one in builds),
        Fix(older, needs="another environment"),
    )


@check(
    title="PyTorch's compiler does not support this Python yet (torch.compile)",
    severity=Severity.ADVICE,
    cause="torch.compile works on Python's bytecode, which each minor release of Python changes. PyTorch has wheels "
    "for a new Python some releases before its compiler supports it: all else works, and torch.compile raises "
    "RuntimeError, also where a package calls it when it is imported.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/169875",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1813",
        "https://github.com/PINA-org/PINA/issues/683",
    ),
    targets=torches,
    only_with=(ANY_GPU, f"pythons.frameworks.version={names(f'{one}.*' for one in releases_that_compile_less())}"),
    affects=("wheels", "extensions"),
    validated_on=("simulated 2026-11",),
)
def compile_unsupported(on: OnFramework) -> str | None:
    """The release against the first that compiles for this Python."""
    version, live = known(on.framework.version), on.framework.live
    first = torch().compiles.get(".".join(known(on.python.version).split(".")[:2]))
    if version is None or first is None or numbers(version) >= numbers(first) or not (live and live.available is True):
        return None
    python = present(python_minor(on.python))
    return f"torch.compile of {on.name} does not support Python {python}: it raises RuntimeError. PyTorch {first} does."
