"""A Python for Intel's processors on a Mac with Apple's."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.apple import mac_pythons
from gpudoctor.targets import OnPython
from gpudoctor.tasks import cmd

_ANEW = ", in a terminal that does not run under Rosetta, and make the environment anew."


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    if on.python.kind == "conda":
        message = f"Install Miniforge for Apple silicon{_ANEW}"
        commands = (cmd("arch", note="must say arm64"), cmd("brew", "install", "miniforge"))
    else:
        message = f"Install a Python for Apple silicon{_ANEW}"
        commands = (cmd("arch", note="must say arm64"), cmd("brew", "install", "python"))
    proof = cmd("python3", "-c", "import platform; print(platform.machine())", note="arm64")
    return (Fix(message, commands, "reinstall-package", verify=proof),)


@check(
    title="This Python is built for Intel's processors and runs under Rosetta",
    severity=Severity.ERROR,
    cause="Rosetta translates programs for Intel's processors. Packages that such a Python installs are for them too, "
    "and none of these reaches Apple's GPU; of PyTorch there are no new releases for them.",
    fixes=_fixes,
    references=(
        "https://developer.apple.com/metal/pytorch/",
        "https://dev-discuss.pytorch.org/t/pytorch-macos-x86-builds-deprecation-starting-january-2024/1690",
    ),
    targets=mac_pythons,
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def rosetta_python(on: OnPython) -> Problem | None:
    """The interpreter is told x86_64 on a Mac whose processor is Apple's; it matters where a framework is wanted."""
    architecture = known(on.python.architecture)
    if architecture != "x86_64" or known(on.facts.apple.silicon) is not True:
        return None
    chip = on.facts.apple.chip if isinstance(on.facts.apple.chip, str) else "Apple silicon"
    severity = None if on.python.frameworks else Severity.WARNING
    message = (
        f"{on.python.path} is a program for x86_64, and this Mac has an {chip}: what it installs cannot use the GPU."
    )
    return Problem(message, severity=severity)
