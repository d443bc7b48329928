"""ONNX Runtime that does not find CUDA's libraries."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import onnxruntime_verify
from gpudoctor.fixes.onnxruntime_libraries import WHEELS, name_directories
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge import onnxruntime
from gpudoctor.maybe import phrase, text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.libraries import other_majors
from gpudoctor.queries.onnxruntime import is_left_to_program, loads_with_torch, missing, words
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework, onnxruntimes
from gpudoctor.tasks import Task, export, query, unset


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    lacking = missing(on)
    nowhere = [need for need in lacking if need.wheel is None]
    version = text_of(on.framework.version)
    row = onnxruntime.release(version) if version[:1].isdigit() else None
    fixes = [*_found(on, version)] if len(nowhere) < len(lacking) else []
    if nowhere and row and row.extras:
        spec = f"onnxruntime-gpu[cuda,cudnn]=={version}"
        named, tasks = name_directories(on.python, major(text_of(on.framework.cuda)) or 12, version)
        message = f"Install the CUDA and cuDNN wheels that it needs, by its extras.{named}"
        tasks = (install(on.python, spec), *tasks)
        fixes.insert(0, Fix(f"{message}{lasting(on.facts)}", tasks, "reinstall-package", verify=_proof(on, version)))
        fixes += _found(on, version) if len(fixes) == 1 else []
    return tuple(fixes) or (_system(on),)


def _proof(on: OnFramework, version: str) -> Task:
    return onnxruntime_verify(on.python, preload=onnxruntime.can_preload(version))


def _found(on: OnFramework, version: str) -> tuple[Fix, ...]:
    """Let the loader find the wheels' libraries: by the shell, with the program as it is, or by the program itself.

    Where PyTorch is installed, it has loaded its own by then, which are the wheels' as well.
    """
    folders = ":".join(dict.fromkeys(str(need.wheel).rpartition("/")[0] for need in missing(on) if need.wheel))
    message = (
        "Add the directories of the wheels to LD_LIBRARY_PATH where the program is started, which stays as it is"
        f"{'' if _can_preload(version) else ', or import torch in it before onnxruntime'}."
    )
    undo, proof = (unset("LD_LIBRARY_PATH"),), onnxruntime_verify(on.python)
    path = Fix(message, (export("LD_LIBRARY_PATH", folders, "before"),), "change-environment", undo=undo, verify=proof)
    by_shell = (path,) if folders else ()
    if not _can_preload(version):
        return by_shell
    code = Fix(
        "Change the program: let it call onnxruntime.preload_dlls() before its first session, or import torch "
        "first, which loads the same libraries. This shows that the call works.",
        (query(on.python.path, "-c", "import onnxruntime; onnxruntime.preload_dlls()"),),
        "change-environment",
        verify=onnxruntime_verify(on.python, preload=True),
    )
    return (code, *by_shell) if one_of(on.python, "torch") else (*by_shell, code)


def _can_preload(version: str) -> bool:
    return version[:1].isdigit() and onnxruntime.can_preload(version)


def _system(on: OnFramework) -> Fix:
    cuda = major(text_of(on.framework.cuda)) or 12
    named, tasks = name_directories(on.python, cuda, text_of(on.framework.version))
    message = f"Install CUDA {cuda}'s libraries as wheels.{named}"
    wheels = install(on.python, *(f"nvidia-{part}-cu{cuda}" for part in WHEELS))
    return Fix(message, (wheels, *tasks), "reinstall-package", verify=onnxruntime_verify(on.python))


@check(
    title="ONNX Runtime does not find the CUDA libraries and runs on the CPU",
    severity=Severity.ERROR,
    cause="CUDAExecutionProvider has no search path to site-packages/nvidia: the dynamic loader does not find the "
    "wheels' libraries, the provider fails to load, and the session silently falls back to the CPU.",
    fixes=_fixes,
    references=(
        "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#preload-dlls",
        "https://github.com/microsoft/onnxruntime/issues/25609",
    ),
    targets=onnxruntimes,
    caused_by=("python.*", "libraries.*", "onnxruntime.both-packages", "onnxruntime.wrong-cuda-major"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    read_from_files=True,
)
def libraries_not_found(on: OnFramework) -> Problem | None:
    """Libraries of the CUDA provider are not where the loader looks, in no major."""
    lacking = missing(on)
    if not lacking or other_majors(on.facts, on.python, [n for n in lacking if n.wheel is None]):
        return None
    held = [n for n in lacking if n.wheel]
    nowhere = [n for n in lacking if not n.wheel]
    names = ", ".join(n.soname for n in (nowhere or lacking)[:4])
    where = "and no wheel contains them" if nowhere else "although their wheels are installed: it does not search them"
    message = f"{on.name} does not find {names}, {where}."
    seen = (*(phrase("{}: {}", n.soname, n.wheel) for n in held[:3]), *words(on))
    return Problem(message, seen, severity=_severity(on))


def _severity(on: OnFramework) -> Severity | None:
    """Where all are installed, it depends on the program: one that loads them first, or imports PyTorch, has them."""
    if loads_with_torch(on):
        return Severity.ADVICE
    return Severity.WARNING if on.framework.live is None or is_left_to_program(on) else None
