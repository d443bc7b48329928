"""onnxruntime and onnxruntime-gpu in one environment."""

from gpudoctor.check_engine import Fix, Severity
from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import rivals
from gpudoctor.fixes.frameworks import onnxruntime_instead, onnxruntime_runs, onnxruntime_verify
from gpudoctor.fixes.onnxruntime_libraries import name_directories
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge import onnxruntime
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.onnxruntime import packages
from gpudoctor.queries.packages import release
from gpudoctor.targets import OnFramework


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found, versions = packages(on), rivals.versions_of(on)
    keep = "onnxruntime-gpu" if "onnxruntime-gpu" in found else found[0]
    gpu, number = keep == "onnxruntime-gpu" and nvidia_gpus(on.facts), versions.get(keep)
    commands = (
        onnxruntime_instead(on.facts, on.python, *found, number=number)
        if gpu or not number
        else (uninstall(on.python, *found), install(on.python, f"{keep}=={release(number)}"))
    )
    message = (
        f"Remove all of them, then install only {keep}: they share one directory, and removing one takes files of the "
        f"other. Look what brought the CPU package back (`pip show onnxruntime`, Required-by).{lasting(on.facts)}"
    )
    preload = bool(gpu and number and onnxruntime.can_preload(number))
    row = onnxruntime.release(number) if gpu and number and onnxruntime_runs(on.facts, number) else None
    if row and number and row.extras:  # the wheels of its libraries come with it
        named, tasks = name_directories(on.python, int(row.cuda), number)
        message, commands = f"{message}{named}", (*commands, *tasks)
    return (Fix(message, commands, "reinstall-package", verify=onnxruntime_verify(on.python, preload=preload)),)


def _effect(on: OnFramework) -> tuple[str, tuple[str, ...], Severity | None]:
    live = on.framework.live
    listed = live.listed if live else None
    lost = on.framework.variant == "cpu" or (isinstance(listed, tuple) and "CUDAExecutionProvider" not in listed)
    severity = Severity.ADVICE if not nvidia_gpus(on.facts) else Severity.ERROR if lost else None
    seen = (f"providers: {', '.join(listed) or 'none'}",) if isinstance(listed, tuple) else ()
    return "; the CUDA provider is gone" if lost else "", seen, severity


both_packages = rivals.several_packages(
    ONNXRUNTIME,
    __name__,
    packages=packages,
    fixes=_fixes,
    effect=_effect,
    severity=Severity.WARNING,
    references=("https://onnxruntime.ai/docs/install/", "https://github.com/ultralytics/ultralytics/issues/21092"),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
