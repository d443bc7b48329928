"""Intel Extension for PyTorch from another release than PyTorch."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.intel import verify
from gpudoctor.fixes.python import install, uninstall, version_of
from gpudoctor.maybe import known, present
from gpudoctor.queries.intel import extended_torches
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework

_NAME = "intel-extension-for-pytorch"
_WITHOUT = (2, 5)  # the first PyTorch with XPU builds for all Intel GPUs


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    own = numbers(present(on.framework.version))[:2]
    number = ".".join(str(part) for part in own)
    message = f"Install the extension release for PyTorch {number}."
    match = Fix(message, (install(on.python, f"{_NAME}=={number}.*"),), "reinstall-package", verify=verify(on.python))
    if own < _WITHOUT:
        return (match,)
    message = f"Remove the extension: the XPU builds of PyTorch {number} support Intel GPUs without it."
    there = install(on.python, f"{_NAME}=={present(version_of(on.python, _NAME))}")
    remove = (uninstall(on.python, _NAME),)
    return (Fix(message, remove, "reinstall-package", undo=(there,), verify=verify(on.python)), match)


@check(
    title="intel-extension-for-pytorch does not match the PyTorch release",
    severity=Severity.ERROR,
    cause="The extension is compiled against one minor release of PyTorch; with another one its import prints an "
    "error and exits, or fails with undefined symbols.",
    fixes=_fixes,
    references=(
        "https://github.com/intel/intel-extension-for-pytorch/issues/865",
        "https://github.com/intel/intel-extension-for-transformers/pull/1278",
    ),
    targets=extended_torches,
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def extension_mismatch(on: OnFramework) -> Problem | None:
    """Major and minor release differ."""
    own = version_of(on.python, _NAME)
    if own is None:
        return None
    torch = known(on.framework.version)
    if torch is None or numbers(own)[:2] == numbers(torch)[:2]:
        return None
    return Problem(f"{_NAME} {own} is installed with PyTorch {torch}; it needs PyTorch {own.rsplit('.', 1)[0]}.")
