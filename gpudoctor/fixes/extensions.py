"""Fixes that match a compiled extension and PyTorch."""

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Framework, Package, Python
from gpudoctor.facts.python import PackageCode
from gpudoctor.fixes import frameworks
from gpudoctor.fixes.other_projects import meant
from gpudoctor.fixes.other_torch import ended, is_of_pypi, pinned, stable, the_other_torch, without_backend
from gpudoctor.fixes.python import NEW, another_build, install, lasting, version_of
from gpudoctor.fixes.verify_commands import extension_proof
from gpudoctor.knowledge import rocm
from gpudoctor.knowledge import torch as torch_table
from gpudoctor.knowledge.cuda_extensions import CudaExtension, cuda_extensions, on_torch_index, stable_extension
from gpudoctor.knowledge.python_rules import (
    python_rules,
    release_for_torch,
    torchaudio_for,
    torchvision_for,
    wheel_page,
)
from gpudoctor.knowledge.requests import requests
from gpudoctor.knowledge.wanted import is_extension
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import Unknown, known_or, present, text_of
from gpudoctor.queries.capability import side, sm
from gpudoctor.queries.extensions import COMPANIONS, pin
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import import_of
from gpudoctor.queries.packages import is_own_build, major, numbers, packages_of, release
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Command, Task, cmd, filtered, query

# The version of AMD's own wheels, not of PyTorch's: 2.9.1+rocm7.2.0.lw.git7e1940d4.
_OF_AMD = pattern(r"\+rocm(\d+(?:\.\d+){1,2})\.(?:lw\.)?git")


def rebuild(on: OnPython, name: str, version: str, torch: Framework | None) -> tuple[Fix, ...]:
    """Match an extension and PyTorch: rebuild the extension, or install the PyTorch that it was built for."""
    wanted, verify = pin(on.python, name), _proof(on, name)
    if torch and _is_backend(torch, name):
        return without_backend(on, name)
    if torch and (last := cuda_extensions().ended.get(name)):
        return ended(on, name, last, verify)
    package = next((p for p in packages_of(on.python) if p.name == name), None)
    if (
        wanted
        and package
        and not (torch and wanted == release(text_of(torch.version)) and is_of_pypi(on.python, torch))
    ):
        return pinned(on, package, wanted, torch, verify)
    number = release(str(torch.version)) if torch and isinstance(torch.version, str) else "the installed one"
    if torch and (ours := release_for_torch(name, number)) and not _is_of(package, ours):
        commands = another_build(on.python, f"{name}=={ours}.*", index=torch_index(on.python, torch))
        message = f"Install {name} {ours}, the release for PyTorch {number}, which stays as it is."
        return (Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package", verify=verify),)
    if torch and package and number[:1].isdigit() and (row := stable_extension(name, number)):
        built = _built_here(on, name, version, torch, verify)
        return (*stable(on, package, torch, row, verify), built)
    if torch and (build := _from_page(on, name, version, torch, verify)):
        return (build, *the_other_torch(on, name, torch, verify))
    if torch and (wheel := _from_its_project(on, name, torch, verify)):
        return (wheel, *the_other_torch(on, name, torch, verify))
    built = _built_here(on, name, version, torch, verify)
    ready = _without_nvcc(on, name, version, torch, verify)
    return (*ready, built, *(the_other_torch(on, name, torch, verify) if torch else ()))


def _is_backend(torch: Framework, name: str) -> bool:
    """Whether PyTorch fails because it loads an extension for another vendor's devices by itself."""
    error = torch.live.import_error or "" if torch.live else ""
    return f"Failed to load the backend extension: {name.replace('-', '_')}." in error


def _is_of(package: Package | None, series: str) -> bool:
    """Whether a release of a series is installed that names no other build: to install it again changes nothing."""
    return package is not None and "+" not in package.version and f"{package.version}.".startswith(f"{series}.")


def _built_here(on: OnPython, name: str, version: str, torch: Framework | None, verify: Task | None) -> Fix:
    number = text_of(torch.version).partition("+")[0] if torch else ""
    message = (
        f"Reinstall {name} for PyTorch {number or 'the installed one'}: use the wheel from its releases page for this "
        f"PyTorch, CUDA, Python and C++ ABI (cxx11abiTRUE or cxx11abiFALSE), or build it here, which needs "
        f"{_nvcc(on, torch)}."
    )
    return Fix(f"{message}{lasting(on.facts)}", (_build(on, name, version),), "reinstall-package", verify=verify)


def _without_nvcc(
    on: OnPython, name: str, version: str, torch: Framework | None, verify: Task | None
) -> tuple[Fix, ...]:
    """Let a package's setup take the ready-made wheel for this PyTorch, where there is no nvcc to build it with."""
    variable = cuda_extensions().without_nvcc.get(name)
    if (
        variable is None
        or torch is None
        or on.facts.toolkits.home.nvcc is not None
        or is_own_build(text_of(torch.version))
    ):
        return ()
    message = (
        f"Take the wheel of {name}'s releases page for this PyTorch, CUDA and Python, for which its setup looks first: "
        f"with the variable it asks for no nvcc. Where the page has none, the import still fails.{lasting(on.facts)}"
    )
    command = _build(on, name, version, (variable, "TRUE"))
    return (Fix(message, (command,), "reinstall-package", verify=verify),)


def for_capability(on: OnPython, code: PackageCode, capability: str) -> tuple[Fix, ...]:
    """Build an extension of PyTorch here for this GPU, or install a release whose wheels have code for it.

    Args:
        on: the environment.
        code: the package, and the code that it has.
        capability: the GPU's, "12.0".
    """
    name = code.package
    other = "A newer" if side(known_or(code.archs, ()), capability) == "newer" else "Another"
    fixes = [Fix(f"{other} release of {name} may have wheels with code for this GPU.{lasting(on.facts)}")]
    if other == "A newer":
        command = install(on.python, name, upgrade=True)
        message = f"Upgrade {name}: newer releases are compiled for newer GPUs.{lasting(on.facts)}"
        fixes = [Fix(message, (command,), "reinstall-package")]
    if not is_extension(name):
        return tuple(fixes)
    torch = one_of(on.python, "torch")
    # An image's list of architectures is why a build on this machine may be for others.
    command = _build(on, name, code.version, ("TORCH_CUDA_ARCH_LIST", capability))
    message = (
        f"Build {name} here for this GPU, without the wheel that pip keeps of an earlier build, which needs "
        f"{_nvcc(on, torch)}. A source tree's own directory build/ has to be removed first.{lasting(on.facts)}"
    )
    counted = filtered(query("cuobjdump", "--list-elf", code.path), query("grep", sm(capability)))
    proof = counted if code.path else None
    return (Fix(message, (command,), "reinstall-package", verify=proof), *fixes)


def with_module(on: OnPython, code: PackageCode, capability: str) -> tuple[Fix, ...]:
    """Build a package here with its module for this GPU, or install the release that needs no such build.

    Args:
        on: the environment.
        code: the package, and the code that it has.
        capability: the GPU's, "8.9".
    """
    row = next(row for row in cuda_extensions().module_of if row.package == code.package)
    imports = frameworks.verify(on.python, f"import torch; import {row.package}.{row.modules[capability]}")
    build = [msgspec.structs.replace(fix, verify=imports) for fix in for_capability(on, code, capability)[:1]]
    message = (
        f"Without compiling: install {row.package} {row.without}, which Triton compiles for the GPU when it runs; it "
        f"has fewer functions.{lasting(on.facts)}"
    )
    return (*build, Fix(message, (install(on.python, f"{row.package}=={row.without}"),), "reinstall-package"))


def _build(on: OnPython, name: str, version: str, *more: tuple[str, str]) -> Command:
    """Compile an installed release here against the installed PyTorch."""
    source, env = _source(name, version)
    own = () if source else ("--no-binary", name)
    options = ("--no-build-isolation", "--no-cache-dir", *own)
    spec = source or f"{name}=={release(version)}"
    command = install(on.python, spec, force=True, no_deps=True, options=options)
    return msgspec.structs.replace(command, env=(*command.env, *env.items(), *more))


def _source(name: str, version: str) -> tuple[str, dict[str, str]]:
    """What pip builds of a package that PyPI does not have, and the variables of its build; empty: PyPI has it."""
    table, ours = cuda_extensions(), numbers(version)
    for one in table.source_of:
        if one.package == name and numbers(one.since) <= ours:
            return one.source, {}
    for row in table.row:
        if row.package == name and row.source and numbers(row.since) <= ours < numbers(row.before):
            return row.source, row.env
    return "", {}


def _from_its_project(on: OnPython, name: str, torch: Framework, verify: Task | None) -> Fix | None:
    """Install the wheel for this PyTorch of a project whose name is another one's on PyPI; None: it is none."""
    rows = (row for row in requests().other_project if row.name == name and "{torch}" in row.install)
    row = next(rows, None)
    if row is None or is_own_build(text_of(torch.version)):
        return None
    where, command = meant(on, row, force=True)
    tasks = (command,) if command else ()
    return Fix(f"{where}{lasting(on.facts)}", tasks, "reinstall-package", verify=verify)


def built_with_cuda(on: OnPython, row: CudaExtension, owner: Package) -> tuple[Fix, ...]:
    """Install an extension with code for GPUs: a wheel for this PyTorch, or built here against it.

    Args:
        on: the environment.
        row: how the package is built.
        owner: the package.
    """
    torch = one_of(on.python, "torch")
    proof = frameworks.verify(on.python, row.proof)
    wheel = _from_page(on, owner.name, owner.version, torch, proof) if torch else None
    source = row.source or f"{owner.name}=={release(owner.version)}"
    own = () if row.source else ("--no-binary", owner.name)
    options = ("--no-build-isolation", "--no-cache-dir", *own)
    command = install(on.python, source, force=True, no_deps=True, options=options)
    message = (
        f"Build {owner.name} here with CUDA, which needs {_nvcc(on, torch)}; --no-build-isolation lets the build see "
        f"PyTorch.{lasting(on.facts)}"
    )
    task = msgspec.structs.replace(command, env=(*command.env, *row.env.items()))
    built = Fix(message, (task,), "reinstall-package", verify=proof)
    found = (*((wheel,) if wheel else ()), built)
    if not row.successor:
        return found
    message = f"Install {row.successor}, which continues {owner.name}.{lasting(on.facts)}"
    return (*found, Fix(message, (install(on.python, row.successor, options=options[:1]),), "reinstall-package"))


def _from_page(on: OnPython, name: str, version: str, torch: Framework, verify: Task | None) -> Fix | None:
    """Install an extension's wheel for this PyTorch and CUDA from the page of its wheels; None: no table has one."""
    row, cuda, page = torch_table.release(text_of(torch.version)), text_of(torch.cuda), wheel_page(name, version)
    build = torch_table.cuda_variant(cuda)
    if row is None or page is None or build not in row.wheels or is_own_build(text_of(torch.version)):
        return None
    if page.last and numbers(row.version) > numbers(page.last):
        return None
    spec = f"{name}=={release(version)}+{page.tag.format(torch=row.version.replace('.', ''), build=build)}"
    if spec == f"{name}=={version}":
        return None  # it is here
    message = f"Install the build of {name} for PyTorch {row.version} and CUDA {cuda}.{lasting(on.facts)}"
    command = install(
        on.python,
        spec,
        force=True,
        no_deps=True,
        options=("--find-links", page.address.format(torch=row.version, build=build)),
    )
    return Fix(message, (command,), "reinstall-package", verify=verify)


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
    proof = frameworks.verify(python, f"import torch, {', '.join(there)}; print({there[0]}.__version__)")
    if amds := _OF_AMD.search(present(torch.version)):
        # The page has one build of each minor release, and PyPI's would be the higher version.
        minors = [f"{spec.rpartition('.')[0]}.*" for spec in specs]
        place = ("--no-index", "-f", rocm.wheels(amds[1]))
        message = f"Install AMD's {' and '.join(there)} for PyTorch {version} and ROCm {amds[1]}.{lasting(facts)}"
        task = install(python, *minors, force=True, no_deps=True, options=place)
        return Fix(message, (task,) if specs else (), "reinstall-package", verify=proof)
    message = (
        f"Install the {' and '.join(there)} release for PyTorch {version}, from the index that PyTorch came from."
        f"{lasting(facts)}"
    )
    # Without a number pip would take the newest, whose metadata need not name the PyTorch that it is for.
    commands = another_build(python, *specs, index=torch_index(python, torch)) if len(specs) == len(there) else ()
    return Fix(message, commands, "reinstall-package", verify=proof)


def same_build(on: OnPython, name: str, version: str, torch: Framework) -> Fix:
    """Install an extension for the vendor that PyTorch is built for: from PyTorch's index, or compiled here.

    Args:
        on: the environment.
        name: the extension.
        version: its installed version.
        torch: PyTorch, whose version is known.
    """
    proof, number = _proof(on, name), present(torch.version)
    if on_torch_index(name):
        message = f"Install the {name} build for PyTorch {number}, from the index that PyTorch came from."
        commands = another_build(on.python, f"{name}=={release(version)}", index=torch_index(on.python, torch))
    else:
        message = f"Build {name} from source against PyTorch {number}: its wheels are for another vendor."
        options = ("--no-build-isolation", "--no-cache-dir", "--no-binary", name)
        commands = (install(on.python, f"{name}=={release(version)}", force=True, no_deps=True, options=options),)
    return Fix(f"{message}{lasting(on.facts)}", commands, "reinstall-package", verify=proof)


def own_index(on: OnPython, name: str) -> tuple[Fix, ...]:
    """Install a package from its own index for ROCm into a new environment, or use its image; empty: it has none.

    That index has another build of PyTorch, which would replace the one that the rest of this environment needs.
    """
    row = python_rules().rocm_index.get(name)
    prefix = on.python.prefix
    if row is None or isinstance(prefix, Unknown):
        return ()
    index, version, glibc, image = row
    place = NEW if prefix.startswith("/usr") else f"{prefix}-{name}"
    interpreter = f"{place}/bin/python"
    uv = ("uv",) if on.python.manager == "uv" else (on.python.path, "-m", "uv")
    commands = (
        *(() if on.python.manager == "uv" else (install(on.python, "uv"),)),
        cmd(*uv, "venv", "--python", version, place),
        cmd(*uv, "pip", "install", "--python", interpreter, "--extra-index-url", index, name),
    )
    message = (
        f"Install the ROCm build of {name} in an environment of its own: its wheels are for Python {version} and glibc "
        f"{glibc} or newer alone, and contain the PyTorch that they need; for another Python pip takes PyPI's build "
        f"for CUDA.{lasting(on.facts)}"
    )
    other = f"Use the image {image}, which contains {name} for ROCm, or build it from source."
    proof = query(interpreter, "-c", f"import torch, {name}; print(torch.version.hip)")
    return Fix(message, commands, "reinstall-package", verify=proof), Fix(other, needs="a new container")


def torch_index(python: Python, torch: Framework) -> str | None:
    """PyTorch's own index of its build; None where this is the build that PyPI has.

    The metadata decides: PyPI, which refuses local versions (PEP 440), has 2.7.1, which calls itself 2.7.1+cu126.
    """
    version, cuda = present(torch.version), torch.cuda if isinstance(torch.cuda, str) else ""
    build = version.partition("+")[2] or (torch_table.cuda_variant(cuda) if cuda.count(".") == 1 else "")
    if amds := _OF_AMD.search(version):
        build = f"rocm{'.'.join(amds[1].split('.')[:2])}"  # AMD's page has nothing but PyTorch and its companions
    row = torch_table.release(version)
    if not build or ("+" not in (version_of(python, "torch") or version) and row and row.default == build):
        return None
    return torch_table.index_of(build)


def _proof(on: OnPython, name: str) -> Task | None:
    if one := import_of(on.python, name):
        return frameworks.verify(on.python, f"import {one.module}")
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
