"""Fixes that match a compiled extension and PyTorch."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Framework
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.verify_commands import extension_proof
from gpudoctor.maybe import Unknown
from gpudoctor.queries.extensions import pin
from gpudoctor.queries.packages import major, release
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Task


def rebuild(on: OnPython, name: str, version: str, torch: Framework | None) -> tuple[Fix, ...]:
    """Match an extension and PyTorch: rebuild the extension, or install the PyTorch that it was built for."""
    wanted, fixes, verify = pin(on.python, name), [], _proof(on, name)
    if wanted:
        message = (
            f"Install the PyTorch that {name} {version} was built for, or upgrade {name} with the PyTorch that it "
            "requires."
        )
        commands = (install(on.python, f"torch=={wanted}", f"{name}=={release(version)}", force=True),)
        fixes.append(Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package", verify=verify))
        newer = install(on.python, name, upgrade=True)
        message = f"Upgrade {name}, with the PyTorch that it requires."
        fixes.append(Fix(message, (newer,), "reinstall-package", verify=verify))
        return tuple(fixes)
    number = release(str(torch.version)) if torch and isinstance(torch.version, str) else "the installed one"
    message = (
        f"Reinstall {name} for PyTorch {number}: use the wheel from its releases page for this PyTorch, CUDA, Python "
        f"and C++ ABI (cxx11abiTRUE or cxx11abiFALSE), or build it here, which needs {_nvcc(on, torch)}."
    )
    options = ("--no-build-isolation", "--no-cache-dir", "--no-binary", name)
    command = install(on.python, f"{name}=={release(version)}", force=True, no_deps=True, options=options)
    return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=verify),)


def _proof(on: OnPython, name: str) -> Task | None:
    read = () if isinstance(on.python.extensions, Unknown) else on.python.extensions
    first = next((e for e in read if e.package == name), None)
    return extension_proof(on.python, first) if first else None


def _nvcc(on: OnPython, torch: Framework | None) -> str:
    """The compiler that a build needs, and whether it is there."""
    cuda = torch.cuda if torch and isinstance(torch.cuda, str) else None
    there, named = on.facts.toolkits.home.nvcc, f"nvcc of CUDA {cuda}" if cuda else "nvcc"
    if there is None:
        return f"{named} (CUDA Toolkit, or a -devel image), which is not installed"
    if isinstance(there, str) and cuda and major(there) != major(cuda):
        return f"{named}; the installed one is from CUDA {there}"
    return named
