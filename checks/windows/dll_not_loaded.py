"""A framework's libraries do not load on Windows."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.regressions import Regression, regressions
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or
from gpudoctor.queries.frameworks import first_line
from gpudoctor.queries.windows import windows_frameworks
from gpudoctor.targets import OnLive
from gpudoctor.tasks import cmd, query

RUNTIME = "https://aka.ms/vs/17/release/vc_redist.x64.exe"
_NOT_LOADED = pattern(r"\[WinError (?:126|127|1114)\]|DLL load failed")


def _bug(on: OnLive) -> Regression | None:
    """The PyTorch that asks for libomp140.x86_64.dll, which only Visual Studio installs."""
    torch = known_or(on.framework.version, None) if on.framework.name == "torch" else None
    found = regressions("torch", torch.partition("+")[0], sign="fbgemm.dll") if torch else ()
    return next((bug for bug in found if bug.sign in (on.live.import_error or "")), None)


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    proof = query(on.python.path, "-c", f"import {on.framework.name}")
    if bug := _bug(on):
        message = (
            f"Install PyTorch {bug.fixed} or newer, which does not need that library, from the same index as "
            f"{bug.first}."
        )
        command = install(on.python, f"torch>={bug.fixed}", upgrade=True)
        return (Fix(message, (command,), "reinstall-package", verify=proof),)
    message = f"Install Microsoft's current Visual C++ runtime ({RUNTIME}), even if an older one is installed."
    command = cmd("winget", "install", "--exact", "--id", "Microsoft.VCRedist.2015+.x64")
    return (Fix(message, (command,), root=True, verify=proof),)


@check(
    title="DLL load failed: a library that the framework needs does not load",
    severity=Severity.ERROR,
    cause="The Windows error names the library that was to be loaded, not the missing one that it depends on. That is "
    "usually Microsoft's Visual C++ runtime: not installed, or older than the framework was compiled with.",
    fixes=_fixes,
    references=(
        "https://learn.microsoft.com/en-us/cpp/windows/latest-supported-vc-redist",
        "https://github.com/pytorch/pytorch/issues/131662",
        "https://github.com/nagadomi/nunif/issues/701",
    ),
    targets=windows_frameworks,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def dll_not_loaded(on: OnLive) -> Problem | None:
    """Its import fails with one of Windows's errors for that."""
    error = on.live.import_error
    if error is None or not _NOT_LOADED.search(error):
        return None
    runtime = known_or(on.facts.windows.vc_runtime, "")
    there = "is not installed" if runtime is None else f"is {runtime}" if runtime else "is of an unknown version"
    if bug := _bug(on):
        there += f", and PyTorch {bug.first} also needs a Visual Studio library (libomp140)"
    elif runtime and version(runtime) < (14, 40):
        there += ", which is older than current frameworks are compiled with"
    return Problem(
        f"{on.name} does not import (DLL load failed); the Visual C++ runtime {there}.", (first_line(error),)
    )
