"""onnxruntime and onnxruntime-gpu in one environment."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import onnxruntime_spec, onnxruntime_verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.maybe import text_of
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.onnxruntime import packages
from gpudoctor.queries.packages import release
from gpudoctor.targets import OnFramework, onnxruntimes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found = packages(on)
    versions = dict(on.framework.others) | {on.framework.distribution or "": text_of(on.framework.version)}
    keep = "onnxruntime-gpu" if "onnxruntime-gpu" in found else found[0]
    spec = f"{keep}=={release(versions[keep])}" if versions.get(keep) else onnxruntime_spec(on.facts, on.python)
    commands = (uninstall(on.python, *found), install(on.python, spec))
    message = (
        f"Remove all of them, then install only {keep}: they share one folder, and removing one takes files of the "
        f"other. Look what brought the CPU package back (`pip show onnxruntime`, Required-by).{lasting(on.facts)}"
    )
    return (Fix(message, commands, "reinstall-package", verify=onnxruntime_verify(on.python)),)


@check(
    title="Two ONNX Runtime packages overwrite each other",
    severity=Severity.WARNING,
    cause="onnxruntime and onnxruntime-gpu write the same folder onnxruntime; the one that was installed last wins, "
    "and tools install the CPU one by themselves. Only one may be installed.",
    fixes=_fixes,
    references=(
        "https://onnxruntime.ai/docs/install/",
        "https://github.com/ultralytics/ultralytics/issues/21092",
    ),
    targets=onnxruntimes,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def both_packages(on: OnFramework) -> Problem | None:
    """More than one distribution brings the folder onnxruntime."""
    found = packages(on)
    if len(found) < 2:
        return None
    versions = dict(on.framework.others) | {on.framework.distribution or "": text_of(on.framework.version)}
    names = " and ".join(f"{name} {versions.get(name, '')}".strip() for name in found)
    live = on.framework.live
    listed = live.listed if live else None
    lost = on.framework.variant == "cpu" or (isinstance(listed, tuple) and "CUDAExecutionProvider" not in listed)
    effect = "; the CUDA provider is gone" if lost else ""
    severity = Severity.ADVICE if not nvidia_gpus(on.facts) else Severity.ERROR if lost else None
    seen = (f"providers: {', '.join(listed) or 'none'}",) if isinstance(listed, tuple) else ()
    return Problem(f"{names} are both installed and overwrite each other's files{effect}.", seen, severity=severity)
