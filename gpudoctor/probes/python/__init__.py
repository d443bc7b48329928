"""Looks at a Python environment from outside: which interpreter, what is installed in it, and what quarrels there."""

from collections.abc import Callable, Sequence

from msgspec.structs import fields, replace

from gpudoctor.facts.python import (
    Extension,
    JitKernel,
    LostCheckout,
    NotebookKernel,
    NotRun,
    Package,
    PackageCode,
    PackageImport,
    Python,
    Shadow,
)
from gpudoctor.knowledge.wanted import computes, hideable, matters
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.metadata import read_head
from gpudoctor.probes.python import (
    conflicts,
    duplicates,
    elsewhere,
    interpreter,
    keras,
    leftovers,
    manager,
    requirements,
)
from gpudoctor.probes.python import packages as python_packages
from gpudoctor.probes.python.choice import ON_PATH, OURS, InterpreterError, choose
from gpudoctor.probes.python.extra_index import extra_index
from gpudoctor.probes.python.interpreter import Said, ask_early, is_whole
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, PathEntry, text_of

__all__ = ["InterpreterError", "ask_early", "choose", "probe"]

# A package's folder, a script, bytecode, and an extension module that was built in place.
_SUFFIXES = ("", ".py", ".pyc", ".so", ".abi3.so")
# The .pth files of environments without editable installations: of coverage, setuptools, virtualenv and pywin32.
_NO_LINKS = ("a1_coverage.pth", "distutils-precedence.pth", "_virtualenv.pth", "pywin32.pth")
_SMALL = 1 << 14  # bytes of a directory: some hundred names


def probe(machine: Machine, path: str, why: str = "", quick: bool = False, gpu: bool = False) -> Python:
    """All of one interpreter's facts except its frameworks.

    Args:
        machine: where it lies.
        path: the interpreter.
        why: what chose it, for people.
        quick: leave out what reads symbols of large libraries.
        gpu: an NVIDIA GPU is there, so that a full examination counts the GPU code of packages.
    """
    said = interpreter.ask(machine, path)
    if isinstance(said, str):
        return _silent(path, why, machine.real(path), said)
    if "/shims/" in path and said.executable:
        path = said.executable  # pyenv's shim answers differently in every folder
    names, folders = DirectoryNames(machine), _folders(machine, said)
    found, stale = duplicates.sorted_out(machine, python_packages.find(machine, folders, names))
    found = _all_read(machine, said, found, names)
    packages = tuple(each.package for each in found)
    backend, backend_by = keras.probe(machine, packages)
    requires = _requires(machine, found)
    return Python(
        path=path,
        found_by=why,
        real=machine.real(said.executable or path),
        **_interpreter(machine, said),  # type: ignore[arg-type]
        **_environment(machine, said, packages),  # type: ignore[arg-type]
        packages=packages if quick else tuple(replace(each, requires=tuple(requires(each))) for each in packages),
        shadows=(
            *conflicts.shadows(machine, [*_here(machine, folders, hideable(), _SUFFIXES), *folders], packages, names),
            *_hidden_standard(machine, said, folders, names),
        ),
        remnants=(*leftovers.remnants(machine, folders, found, names), *stale),
        lost_checkouts=_lost_checkouts(machine, folders, found, names),
        notebook_kernels=_notebook_kernels(machine, said.prefix, packages),
        overlaps=conflicts.overlaps(found),
        mixed=tuple(conflicts.mixed(machine, found)),
        overwritten=tuple(conflicts.overwritten(machine, found)),
        unmet=requirements.unmet(packages, _markers(said), requires),
        extensions=_extensions(machine, said.prefix, found, names, quick),
        code=_code(machine, found, names, quick, gpu),
        kernels=_kernels(machine, said, found, names),
        imports=_not_imported(found) if quick else (),
        keras_backend=backend,
        keras_backend_by=backend_by,
        not_run=_not_run(machine) if why in (ON_PATH, OURS) else None,
    )


def _all_read(
    machine: Machine, said: Said, found: list[FoundDistribution], names: DirectoryNames
) -> list[FoundDistribution]:
    """The distributions; where one is built for another Python or architecture, with the files of all of them."""
    own = f".cpython-{''.join(said.version.split('.')[:2])}-{said.system[-1]}-"

    def is_foreign(libraries: tuple[str, ...]) -> bool:
        tagged = [name for name in libraries if ".cpython-" in name and "-linux" in name]
        return bool(tagged) and not any(own in name for name in tagged)

    if not any(is_foreign(each.package.libraries) for each in found):
        return found
    return [each if each.package.libraries else python_packages.completed(machine, each, names) for each in found]


def _lost_checkouts(
    machine: Machine, folders: Sequence[PathEntry], found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[LostCheckout, ...]:
    """Editable installations whose directory is gone; each of them has a .pth file in site-packages (PEP 660)."""
    files = (
        (entry.path, f"{entry.path}/{name}")
        for entry in folders
        if entry.is_site
        for name in entry.names
        if name.endswith(".pth") and name not in _NO_LINKS
    )
    linked = {site for site, path in files if not _leads_somewhere(machine, path)}
    if not linked:
        return ()
    from gpudoctor.probes.python import checkouts  # few environments have such installations

    return tuple(checkouts.lost(machine, linked, found, names))


def _leads_somewhere(machine: Machine, path: str) -> bool:
    """Whether a .pth file names directories alone, and all are there; one may import a module that knows the way."""
    lines = [line.strip() for line in (machine.line(path) or "").splitlines() if line.strip()]
    return all(line.startswith("/") and machine.exists(line) for line in lines)


def _notebook_kernels(machine: Machine, prefix: str, packages: Sequence[Package]) -> tuple[NotebookKernel, ...]:
    if not any(one.name.startswith(("ipykernel", "jupyter", "notebook")) for one in packages):
        return ()
    from gpudoctor.probes.python import notebook_kernels  # for environments with Jupyter

    return notebook_kernels.probe(machine, prefix)


def _units_without(machine: Machine, prefix: str, program: str) -> tuple[str, ...]:
    from gpudoctor.probes.python import services  # few environments have such a program of their own

    return services.without(machine, prefix, program)


def _not_run(machine: Machine) -> NotRun | None:
    """The environment of the working directory, where somebody else owns it."""
    from gpudoctor.probes.python import project_env  # only where nobody names the Python

    found = project_env.find(machine)
    if found is None or found.stranger is None:
        return None
    inside = elsewhere.frameworks_in(machine, found.prefix)
    return NotRun(path=found.prefix, owner=found.stranger, frameworks=inside)


def _requires(machine: Machine, found: Sequence[FoundDistribution]) -> Callable[[Package], tuple[str, ...]]:
    """What gives a distribution's requirements: those of most are read only where somebody requires them."""
    places = {id(each.package): each.place for each in found}

    def requires(package: Package) -> tuple[str, ...]:
        if matters(package.name):
            return package.requires
        return read_head(text_of(machine, f"{places[id(package)]}/METADATA")).requires

    return requires


def _extensions(
    machine: Machine, prefix: str, found: Sequence[FoundDistribution], names: DirectoryNames, quick: bool
) -> Maybe[tuple[Extension, ...]]:
    if machine.system != "Linux":
        return ()
    if quick:
        known = any(computes(each.package.name) for each in found)
        return Unknown("symbols of extensions were not read (--quick)") if known else ()
    from gpudoctor.probes.python import extensions  # it reads symbol tables, which a quick run does not

    return extensions.probe(machine, prefix, found, names)


def _code(
    machine: Machine, found: Sequence[FoundDistribution], names: DirectoryNames, quick: bool, gpu: bool
) -> Maybe[tuple[PackageCode, ...]]:
    if quick:
        known = any(computes(each.package.name) for each in found)
        return Unknown("the GPU code was not counted (--quick)") if known else ()
    if not gpu or machine.system != "Linux":
        return ()
    from gpudoctor.probes.python import package_code  # it reads the headers of all kernels, which a quick run does not

    return package_code.probe(machine, found, names)


def _not_imported(found: Sequence[FoundDistribution]) -> Maybe[tuple[PackageImport, ...]]:
    known = any(computes(each.package.name) for each in found)
    return Unknown("packages were not imported (--quick)") if known else ()


def with_imports(machine: Machine, python: Python) -> Python:
    """The environment with what its GPU packages did when they were imported, after the frameworks."""
    from gpudoctor.probes.python import imports
    from gpudoctor.probes.python.gpu_packages import declaring, gpu_packages

    names = DirectoryNames(machine)
    sites = [
        PathEntry(path, frozenset(machine.names(path))) for path in known_or(python.sys_path, ()) if is_whole(path)
    ]
    installed = {each.name: each.directory for each in known_or(python.packages, ())}
    found = python_packages.find(machine, sites, names)
    own = [each for each in found if installed.get(each.package.name) == each.package.directory]
    packages, dependents = gpu_packages(machine, own, names), declaring(machine, own, names)
    asked = replace(python, imports=imports.probe(machine, python, packages, dependents))
    if not any(each.package.name == "torchaudio" for each in own):
        return asked
    from gpudoctor.probes.python import audio_files  # it reads modules of packages for audio

    return replace(asked, audio=audio_files.probe(machine, known_or(python.prefix, ""), own))


def _kernels(
    machine: Machine, said: Said, found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[JitKernel, ...]:
    """What is wrong in the caches of compiled kernels, which exist only where PyTorch or FlashInfer made them."""
    if machine.system != "Linux" or not any(each.package.name == "torch" for each in found):
        return ()
    from gpudoctor.probes.python import jit_caches

    return jit_caches.probe(machine, said.prefix, said.version, found, names)


def _silent(path: str, why: str, real: str, error: str) -> Python:
    unknown = {field.name: Unknown(error) for field in fields(Python) if isinstance(field.default, Unknown)}
    return Python(**{**unknown, "path": path, "found_by": why, "real": real, "error": error})  # type: ignore[arg-type]


def _interpreter(machine: Machine, said: Said) -> dict[str, object]:
    header = f"{said.include}/Python.h"
    library = next((part for part in said.libraries if part), None)
    marked = library is not None and machine.exists(f"{library}/EXTERNALLY-MANAGED")
    return {
        "version": said.version,
        "implementation": said.implementation,
        "bits": said.bits,
        "architecture": said.system[3] if len(said.system) > 3 else Unknown("it does not report it"),
        "prefix": said.prefix,
        "base_prefix": said.base_prefix,
        "externally_managed": marked and said.prefix == said.base_prefix,
        "sys_path": said.sys_path,
        "user_site": said.user_site,
        "site_packages": _site_packages(said),
        "headers": machine.exists(header) if said.include else Unknown("sysconfig names no directory for headers"),
        "startup": Unknown("it is the interpreter that runs gpudoctor") if said.startup is None else said.startup,
    }


def _site_packages(said: Said) -> str | Unknown:
    """Where pip puts packages; Debian's old sysconfig names a folder that is not on sys.path."""
    places = [place for place in (said.purelib, *said.sites) if place]
    on_path = [place for place in places if place in said.sys_path]
    return next(iter(on_path or places), Unknown("neither sysconfig nor site names one"))


def _environment(machine: Machine, said: Said, packages: Sequence[Package]) -> dict[str, object]:
    kind = manager.kind(machine, said.prefix)
    found = manager.project(machine, said.prefix) if kind in ("venv", "conda") else None
    folder, lock = found or (None, None)
    own_ninja = f"{said.prefix}/bin/ninja" if machine.exists(f"{said.prefix}/bin/ninja") else None
    installer = manager.manager(machine, said.prefix, kind, lock, packages)
    return {
        "kind": kind,
        "manager": installer,
        "extra_index": extra_index(machine, said.prefix, installer),
        "project": folder,
        "conda": manager.conda(machine, said.prefix),
        "unlinked_libstdcxx": manager.unlinked_libstdcxx(machine, said.prefix),
        "ninja": machine.which("ninja"),
        "own_ninja": own_ninja,
        "units_without_ninja": _units_without(machine, said.prefix, "ninja") if own_ninja else (),
        "own_pip": elsewhere.own_pip(machine, said.prefix) if kind == "venv" else None,
    }


def _folders(machine: Machine, said: Said) -> list[PathEntry]:
    """The folders of sys.path less the standard library's, which hold no packages of ours."""
    library = {part for part in said.libraries if part}
    library |= {f"{part}/lib-dynload" for part in library}
    path = [entry for entry in said.sys_path if is_whole(entry) and entry not in library]
    sites = [site for site in (said.purelib, *said.sites) if site]
    return python_packages.entries(machine, path, machine.env.get("PYTHONPATH", ""), said.user_site, sites)


def _here(
    machine: Machine, folders: list[PathEntry], wanted: Sequence[str], suffixes: Sequence[str]
) -> list[PathEntry]:
    """The shell's folder, where `python -c` and `python -m` look first unless PYTHONSAFEPATH is set."""
    here = machine.env.get("PWD", "")
    known = {machine.real(entry.path) for entry in folders}
    if not is_whole(here) or machine.env.get("PYTHONSAFEPATH") or machine.real(here) in known:
        return []
    names = {f"{module}{suffix}" for module in wanted for suffix in suffixes}
    # It may hold any number of files, or not be readable: then only the names that would hide something are looked up.
    status = machine.status(here)
    listed = machine.listed(here) if status is not None and status.size <= _SMALL else None
    possible = names if listed is None else names.intersection(listed)
    there = frozenset(name for name in possible if machine.exists(f"{here}/{name}"))
    return [PathEntry(here, there, "working directory")]


def _hidden_standard(
    machine: Machine, said: Said, folders: list[PathEntry], names: DirectoryNames
) -> tuple[Shadow, ...]:
    """What hides the standard library; in the folder of a package nobody starts a program."""
    library = next((part for part in said.libraries if part), "")
    here = machine.env.get("PWD", "")
    first = []
    if is_whole(here) and not machine.exists(f"{here}/__init__.py") and not _is_below(machine, here, library):
        first = _here(machine, folders, said.standard, ("", ".py"))
    first += [entry for entry in folders if entry.origin == "PYTHONPATH"]
    return conflicts.hidden_standard(machine, first, said.standard, library, names)


def _is_below(machine: Machine, path: str, folder: str) -> bool:
    return bool(folder) and f"{machine.real(path)}/".startswith(f"{machine.real(folder)}/")


def _markers(said: Said) -> dict[str, str]:
    """The environment markers, https://packaging.python.org/en/latest/specifications/dependency-specifiers/."""
    system, release, version, machine = said.system
    implementation = {"cpython": "CPython", "pypy": "PyPy", "graalpy": "GraalVM"}
    return {
        "implementation_name": said.implementation,
        "implementation_version": said.implementation_version,
        "os_name": "nt" if system == "Windows" else "posix",
        "platform_machine": machine,
        "platform_python_implementation": implementation.get(said.implementation, said.implementation),
        "platform_release": release,
        "platform_system": system,
        "platform_version": version,
        "python_full_version": said.full_version.rstrip("+"),
        "python_version": ".".join(said.version.split(".")[:2]),
        "sys_platform": "win32" if system == "Windows" else system.lower(),
    }
