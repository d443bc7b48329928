"""bitsandbytes without a binary for PyTorch's CUDA release."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install, lasting
from gpudoctor.maybe import known, present
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnFramework, torches
from gpudoctor.tasks import export, query, unset


def _binaries(on: OnFramework) -> list[str]:
    """The CUDA releases of its binaries, such as "128", oldest first."""
    found = package(on.python, "bitsandbytes")
    names = found.libraries if found else ()
    digits = {m[1] for name in names if (m := re.fullmatch(r"libbitsandbytes_cuda(\d{3})\.so", name))}
    return sorted(digits)


def _wanted(on: OnFramework) -> str | None:
    cuda = on.framework.cuda
    return "".join(cuda.split(".")[:2]) if isinstance(cuda, str) else None


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    wanted = _wanted(on) or ""
    verify = query(on.python.path, "-m", "bitsandbytes")
    command = install(on.python, "bitsandbytes", upgrade=True)
    message = f"Upgrade bitsandbytes: newer releases have binaries for newer CUDA releases.{lasting(on.facts)}"
    fixes = [Fix(message, (command,), "reinstall-package", verify=verify)]
    same = [d for d in _binaries(on) if d[:2] == wanted[:2]]
    if same:
        nearest = min(same, key=lambda d: abs(int(d) - int(wanted)))
        message = f"Make it load its binary for CUDA {nearest[:2]}.{nearest[2:]}, which has the same major version."
        variable = export("BNB_CUDA_VERSION", nearest)
        fixes.append(Fix(message, (variable,), "change-environment", undo=(unset("BNB_CUDA_VERSION"),), verify=verify))
    return tuple(fixes)


@check(
    title="bitsandbytes has no binary for PyTorch's CUDA release",
    severity=Severity.ERROR,
    cause="bitsandbytes ships one library per CUDA release (libbitsandbytes_cudaNNN.so) and loads the one for "
    "PyTorch's CUDA release; this bitsandbytes version has no library for it. Its error 'compiled without GPU "
    "support' is misleading.",
    fixes=_fixes,
    references=(
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1688",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1848",
        "https://huggingface.co/docs/bitsandbytes/installation",
    ),
    targets=torches,
    caused_by=("python.*", "pytorch.*"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def bitsandbytes_no_binary(on: OnFramework) -> Problem | None:
    """None of its binaries is for PyTorch's CUDA release."""
    found = package(on.python, "bitsandbytes")
    if found is None or known(on.framework.cuda) is None or not nvidia_gpus(on.facts):
        return None
    there, wanted = _binaries(on), _wanted(on)
    # Where the variable names another binary, environment.selected-library-missing judges that one.
    if not there or wanted in there or on.facts.host.environment.get("BNB_CUDA_VERSION"):
        return None
    message = f"bitsandbytes {found.version} has no libbitsandbytes_cuda{present(wanted)}.so for CUDA "
    return Problem(message + f"{present(on.framework.cuda)} of {on.name}; it has binaries for {', '.join(there)}.")
