"""Brings a compiled extension and PyTorch together."""

from gpudoctor.facts import Framework
from gpudoctor.judge import Fix
from gpudoctor.remedies.python import install, lasting
from gpudoctor.subjects import OnPython
from gpudoctor.views.extensions import pin
from gpudoctor.views.packages import release


def rebuild(on: OnPython, name: str, version: str, torch: Framework | None) -> tuple[Fix, ...]:
    """Bring an extension and PyTorch together: the extension anew, or the PyTorch that it was built for."""
    wanted, fixes = pin(on.python, name), []
    if wanted:
        says = f"Install the PyTorch that {name} {version} was built for, or let a newer {name} choose its own."
        commands = (install(on.python, f"torch=={wanted}", f"{name}=={release(version)}", force=True),)
        fixes.append(Fix(f"{says}{lasting(on.facts)}", commands, "reinstall-package"))
        newer = install(on.python, name, upgrade=True)
        fixes.append(
            Fix(f"Install the newest {name}, with the PyTorch that it requires.", (newer,), "reinstall-package")
        )
        return tuple(fixes)
    number = release(str(torch.version)) if torch and isinstance(torch.version, str) else "the installed one"
    says = (
        f"Reinstall {name} so that it is compiled for PyTorch {number}: from its releases page take the wheel that "
        "names this PyTorch, CUDA, Python and C++ ABI (cxx11abiTRUE or cxx11abiFALSE), or build it here."
    )
    options = ("--no-build-isolation", "--no-cache-dir", f"--no-binary {name}")
    command = install(on.python, f"{name}=={release(version)}", force=True, no_deps=True, options=options)
    return (Fix(f"{says}{lasting(on.facts)}", (command,), "reinstall-package"),)
