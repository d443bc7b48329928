"""CTranslate2 for another cuDNN major version than the installed one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.environment import own_environment
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import python_rules
from gpudoctor.knowledge.torch import with_cudnn
from gpudoctor.maybe import phrase
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import family, system_libraries
from gpudoctor.queries.packages import major, numbers, package, packages_of, wheels
from gpudoctor.targets import OnPython, pythons


def _there(on: OnPython) -> tuple[dict[int, str], bool]:
    """The cuDNN majors that CTranslate2 may find, and whether the environment itself contains one."""
    found: dict[int, str] = {}
    for wheel in wheels(on.python, "cudnn"):
        found.setdefault(major(wheel.version) or 0, f"{wheel.name} {wheel.version}")
    torch = one_of(on.python, "torch")
    if not found and torch and isinstance(torch.cudnn, str):
        found.setdefault(major(torch.cudnn) or 0, f"cuDNN {torch.cudnn} of PyTorch{phrase(' {}', torch.version)}")
    inside = bool(found)
    for lib in system_libraries(on.facts):
        if family(lib.soname).startswith("libcudnn"):
            found.setdefault(major(lib.soname.partition(".so.")[2]) or 0, lib.path)
    return found, inside


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    there, _ = _there(on)
    users = [p.name for p in packages_of(on.python) if p.name in ("faster-whisper", "whisperx")]
    if 9 in there:
        first = python_rules.ctranslate2_without_cudnn()
        message = f"Upgrade CTranslate2 to {first} or newer, which needs no cuDNN.{lasting(on.facts)}"
        command = install(on.python, f"ctranslate2>={first}", *users, upgrade=True)
        return (Fix(message, (command,), "reinstall-package"),)
    since = python_rules.ctranslate2_since(9)
    message = f"Install the last CTranslate2 before {since}, which uses cuDNN 8.{lasting(on.facts)}"
    old = Fix(message, (install(on.python, f"ctranslate2<{since}"),), "reinstall-package")
    torch = reinstall_torch(on.facts, on.python) if one_of(on.python, "torch") else ()
    message = f"Install a newer PyTorch ({with_cudnn(9)}), which includes cuDNN 9."
    newer = [Fix(message, f.tasks, f.action) for f in torch]
    message = "Install it in a separate environment, with cuDNN 9."
    own = Fix(message, own_environment(on.python, "ctranslate2", "nvidia-cudnn-cu12>=9,<10"), "reinstall-package")
    return (old, *newer, own)


@check(
    title="CTranslate2 needs another cuDNN major version",
    severity=Severity.ERROR,
    cause="CTranslate2 up to 4.4 loads cuDNN 8, 4.5 to 4.6.2 cuDNN 9; PyTorch includes cuDNN 9 since 2.4. If the "
    "version that it needs is missing, the process aborts at the first convolution (faster-whisper, WhisperX).",
    fixes=_fixes,
    references=(
        "https://github.com/m-bain/whisperX/issues/954",
        "https://github.com/SYSTRAN/faster-whisper/issues/516",
    ),
    targets=pythons,
    only_with=("pythons.packages.name=ctranslate2",),
    caused_by=("python.*", "libraries.*"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def ctranslate2_cudnn(on: OnPython) -> Problem | None:
    """The cuDNN major that it loads is neither in the environment nor on the system."""
    found = package(on.python, "ctranslate2")
    if found is None or not numbers(found.version) or not nvidia_gpus(on.facts):
        return None
    there, inside = _there(on)
    wanted = python_rules.ctranslate2_cudnn(found.version)
    if wanted is None or wanted in there or not inside:
        return None
    installed = ", ".join(there.values())
    return Problem(
        f"ctranslate2 {found.version} needs cuDNN {wanted} (libcudnn_ops*.so.{wanted}); installed: {installed}."
    )
