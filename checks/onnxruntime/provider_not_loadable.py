"""A provider of ONNX Runtime that a program asks for, without the libraries that it needs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Need
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.variables import assign
from gpudoctor.knowledge import onnxruntime
from gpudoctor.knowledge.onnxruntime import Provider
from gpudoctor.maybe import known, phrase, present, text_of
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework, onnxruntimes
from gpudoctor.tasks import Tasks, export


def _found(on: OnFramework) -> tuple[Provider, tuple[str, ...], tuple[Need, ...]] | None:
    """The first provider that variables ask for, those variables, and the libraries that the loader does not find."""
    env = on.facts.host.environment
    for row in onnxruntime.onnxruntime().provider:
        asking = tuple(
            name for name, value in env.items() if name.startswith(row.variables) or row.name in value.split(",")
        )
        if asking:
            missing = tuple(n for n in known(on.framework.optional) if n.needed_by == row.file and n.path is None)
            if missing:
                return row, asking, missing
    return None


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    row, asking, missing = found
    number, cuda = text_of(on.framework.version), major(text_of(on.framework.cuda))
    release = onnxruntime.tensorrt_of(number) if number[:1].isdigit() else None
    site = on.python.site_packages if isinstance(on.python.site_packages, str) else ""
    proof = verify(on.python, f'import ctypes; print(ctypes.CDLL("{missing[0].soname}"))')
    fixes = []
    if site and cuda and (release or missing[0].wheel):
        tasks: Tasks = (export("LD_LIBRARY_PATH", f"{site}/{row.folder}", "before"),)
        message = "Let the loader search the wheel's directory before Python starts, or import tensorrt first."
        if not missing[0].wheel:
            message = (
                f"Install {row.product}{phrase(' {}', release)}, with which ONNX Runtime {number} is built, and let "
                f"the loader search it before Python starts.{lasting(on.facts)}"
            )
            tasks = (install(on.python, f"tensorrt-cu{cuda}-libs=={present(release)}.*"), *tasks)
        fixes.append(Fix(message, tasks, "reinstall-package", verify=proof))
    for name in asking:
        others = [part for part in on.facts.host.environment[name].split(",") if part and part != row.name]
        if others and len(others) < len(on.facts.host.environment[name].split(",")):
            message = f"Do without {row.product}: ask for {' and '.join(others)} alone, which run the model without it."
            fixes.append(assign(name, ",".join(others), message))
    return tuple(fixes)


@check(
    title="ONNX Runtime cannot load a provider that the program asks for: TensorRT is missing",
    severity=Severity.WARNING,
    cause="onnxruntime-gpu contains the TensorRT provider, but not TensorRT, which its extras [cuda,cudnn] do not "
    "install either. The provider fails to load (libnvinfer.so), and ONNX Runtime falls back to the next provider of "
    "the list, or to the CPU.",
    fixes=_fixes,
    references=(
        "https://onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html#requirements",
        "https://github.com/FocoosAI/focoos/issues/143",
    ),
    targets=onnxruntimes,
    caused_by=("python.*", "onnxruntime.both-packages", "onnxruntime.cpu-package"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def provider_not_loadable(on: OnFramework) -> Problem | None:
    """Variables configure or list the provider, and the loader does not find what its file links to."""
    found = _found(on) if nvidia_gpus(on.facts) else None
    if found is None:
        return None
    row, asking, missing = found
    names = ", ".join(need.soname for need in missing)
    held = missing[0].wheel
    where = f", although a wheel has it in {held.rpartition('/')[0]}, which the loader does not search" if held else ""
    message = (
        f"{on.name}: {row.name}, which {asking[0]} asks for, needs {row.product}, but {names} is not found{where}."
    )
    seen = tuple(f"{name}={on.facts.host.environment[name]}" for name in asking[:3])
    return Problem(message, (*seen, f"{row.file} needs {names}"))
