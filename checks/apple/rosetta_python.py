"""An x86_64 Python on a Mac with Apple silicon."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.apple import mac_pythons
from gpudoctor.targets import OnPython
from gpudoctor.tasks import cmd

_RECREATE = ", in a terminal that does not run under Rosetta, and recreate the environment."


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    if on.python.kind == "conda":
        message = f"Install Miniforge for Apple silicon{_RECREATE}"
        commands = (cmd("arch", note="`arch` must print arm64 first."), cmd("brew", "install", "miniforge"))
    else:
        message = f"Install a Python for Apple silicon{_RECREATE}"
        commands = (cmd("arch", note="`arch` must print arm64 first."), cmd("brew", "install", "python"))
    proof = cmd(
        "python3", "-c", "import platform; print(platform.machine())", note="The new Python must print arm64, too."
    )
    return (Fix(message, commands, "reinstall-package", verify=proof),)


@check(
    title="Python is built for x86_64 and runs under Rosetta",
    severity=Severity.ERROR,
    cause="Rosetta translates x86_64 programs. Packages that such a Python installs are x86_64 too, and none of them "
    "can use the Apple GPU; PyTorch no longer has releases for x86_64 Macs.",
    fixes=_fixes,
    references=(
        "https://developer.apple.com/metal/pytorch/",
        "https://dev-discuss.pytorch.org/t/pytorch-macos-x86-builds-deprecation-starting-january-2024/1690",
    ),
    targets=mac_pythons,
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def rosetta_python(on: OnPython) -> Problem | None:
    """The interpreter reports x86_64 on a Mac with Apple silicon; it matters where a framework is installed."""
    architecture = known(on.python.architecture)
    if architecture != "x86_64" or known(on.facts.apple.silicon) is not True:
        return None
    chip = on.facts.apple.chip if isinstance(on.facts.apple.chip, str) else "Apple silicon"
    severity = None if on.python.frameworks else Severity.WARNING
    message = (
        f"{on.python.path} is an x86_64 program, but this Mac has {chip}: packages that it installs cannot use the GPU."
    )
    return Problem(message, severity=severity)
