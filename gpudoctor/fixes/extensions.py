"""Fixes that match a compiled extension and PyTorch."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Framework, Python
from gpudoctor.fixes import frameworks
from gpudoctor.fixes.python import another_build, install, lasting, version_of
from gpudoctor.fixes.verify_commands import extension_proof
from gpudoctor.knowledge import torch as torch_table
from gpudoctor.knowledge.python_rules import serves_later_torch, torchaudio_for, torchvision_for
from gpudoctor.maybe import Unknown, present
from gpudoctor.queries.extensions import COMPANIONS, pin
from gpudoctor.queries.packages import is_own_build, major, packages_of, release
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Task, Tasks


def rebuild(on: OnPython, name: str, version: str, torch: Framework | None) -> tuple[Fix, ...]:
    """Match an extension and PyTorch: rebuild the extension, or install the PyTorch that it was built for."""
    wanted, fixes, verify = pin(on.python, name), [], _proof(on, name)
    if wanted:
        message = (
            f"Install the PyTorch that {name} {version} was built for, or upgrade {name} with the PyTorch that it "
            "requires."
        )
        commands: Tasks = (install(on.python, f"torch=={wanted}", f"{name}=={release(version)}", force=True),)
        fixes.append(Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package", verify=verify))
        newer = install(on.python, name, upgrade=True)
        message = f"Upgrade {name}, with the PyTorch that it requires."
        fixes.append(Fix(message, (newer,), "reinstall-package", verify=verify))
        return tuple(fixes)
    number = release(str(torch.version)) if torch and isinstance(torch.version, str) else "the installed one"
    if torch and number[:1].isdigit() and serves_later_torch(name, number):
        commands = another_build(on.python, name, index=_index(on.python, torch))
        message = (
            f"Install the newest {name} from the index that PyTorch came from; it is built for PyTorch {number}, too."
        )
        return (Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package", verify=verify),)
    message = (
        f"Reinstall {name} for PyTorch {number}: use the wheel from its releases page for this PyTorch, CUDA, Python "
        f"and C++ ABI (cxx11abiTRUE or cxx11abiFALSE), or build it here, which needs {_nvcc(on, torch)}."
    )
    options = ("--no-build-isolation", "--no-cache-dir", "--no-binary", name)
    command = install(on.python, f"{name}=={release(version)}", force=True, no_deps=True, options=options)
    return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=verify),)


def companions(facts: Facts, python: Python, torch: Framework) -> Fix:
    """Install the torchvision and torchaudio that belong to the installed PyTorch, which stays as it is.

    Args:
        facts: the machine.
        python: the environment.
        torch: its PyTorch, whose version is known.
    """
    there, version = [p.name for p in packages_of(python) if p.name in COMPANIONS], release(present(torch.version))
    releases = {"torchvision": torchvision_for(version), "torchaudio": torchaudio_for(version)}
    found = {} if is_own_build(present(torch.version)) else releases
    specs = [f"{name}=={number}" for name in there if (number := found.get(name))]
    message = (
        f"Install the {' and '.join(there)} release for PyTorch {version}, from the index that PyTorch came from."
        f"{lasting(facts)}"
    )
    # Without a number pip would take the newest, whose metadata need not name the PyTorch that it is for.
    commands = another_build(python, *specs, index=_index(python, torch)) if len(specs) == len(there) else ()
    proof = frameworks.verify(python, f"import torch, {', '.join(there)}; print({there[0]}.__version__)")
    return Fix(message, commands, "reinstall-package", verify=proof)


def _index(python: Python, torch: Framework) -> str | None:
    """PyTorch's own index of its build; None where this is the build that PyPI has.

    The metadata decides: PyPI, which refuses local versions (PEP 440), has 2.7.1, which calls itself 2.7.1+cu126.
    """
    version, cuda = present(torch.version), torch.cuda if isinstance(torch.cuda, str) else ""
    build = version.partition("+")[2] or (f"cu{cuda.replace('.', '')}" if cuda.count(".") == 1 else "")
    row = torch_table.release(version)
    if not build or ("+" not in (version_of(python, "torch") or version) and row and row.default == build):
        return None
    return torch_table.index_of(build)


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
