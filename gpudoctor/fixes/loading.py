"""Fixes for compiled packages that the loader refuses."""

import re

from gpudoctor.check_engine import Fix
from gpudoctor.digits import numbers_in
from gpudoctor.facts import CondaPackage, Facts, PackageImport
from gpudoctor.fixes import intel, jetson, system, toolkit
from gpudoctor.fixes.absent_library import cudnn_wheel, required_wheels, shared_interpreter
from gpudoctor.fixes.cuda_builds import for_one_cuda
from gpudoctor.fixes.driver_capabilities import driver_capability
from gpudoctor.fixes.environment import install_system, without_library_path
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import conda_again, conda_install, conda_of, install, lasting, manager_of
from gpudoctor.fixes.variables import places
from gpudoctor.knowledge import sonames, system_libraries
from gpudoctor.knowledge.import_errors import Survived
from gpudoctor.knowledge.python_rules import ctranslate2_without_cudnn
from gpudoctor.knowledge.regressions import regressions
from gpudoctor.knowledge.wanted import late_call
from gpudoctor.maybe import known_or, phrase, present, text_of
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import OldCopy, import_of, imports_of
from gpudoctor.queries.packages import numbers, packages_of, release
from gpudoctor.queries.repositories import has_source
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import NAMES, OnLive, OnPython, gpus_of, in_container
from gpudoctor.tasks import Task, Tasks, cmd, export, filtered, query, unset

_CXX_PACKAGES = ("libstdcxx", "libstdcxx-ng")  # conda's


def import_proof(on: OnPython, one: PackageImport) -> Task:
    """The command that imports a package, and has it load its libraries."""
    late = late_call(one.package) if one.later else ""
    return verify(on.python, f"import {one.module}; {one.module}.{late}()" if late else one.statement)


def _proof_of(on: OnPython, copy: OldCopy) -> Task | None:
    """The command that shows that it loads: the import of a package or a framework, or a framework's list of GPUs."""
    name = copy.who.rpartition(" ")[0]
    for one in imports_of(on.python):
        if one.package == name:
            return import_proof(on, one)
    module = next((key for key, title in NAMES.items() if title == name), None)
    if module not in BY_MODULE:
        return None
    if not copy.opened:
        return verify(on.python, f"import {module}")
    xpu = any(framework.name == module and framework.variant == "xpu" for framework in on.python.frameworks)
    return intel.verify(on.python) if xpu else verify(on.python, BY_MODULE[module].proof)


def newer_copy(on: OnPython, one: OldCopy) -> tuple[Fix, ...]:
    """Let a newer copy be loaded, or use a build that needs no newer one."""
    proof = _proof_of(on, one)
    folders = _on_path(on.facts, one.path)
    if folders and "oneapi" in one.path.lower():
        return without_oneapi(on.facts, one.path, proof)
    if folders:
        return (without_library_path(on.facts, folders, proof, libraries="libraries"),)
    if one.version.startswith("GLIBC_"):
        return _older_glibc(on, one, proof)
    if linker := _newer_linker(on, one, proof):
        return (linker,)
    if "libstdc++" in one.path and on.python.unlinked_libstdcxx:
        return _linked_again(on, proof)
    prefix = on.python.prefix if isinstance(on.python.prefix, str) else "//"
    gcc = sonames.sonames().gcc.get(one.version)
    if "libstdc++" in one.path and one.path.startswith(f"{prefix}/"):
        name = next((c.name for c in conda_of(on.python) if c.name in _CXX_PACKAGES), "libstdcxx-ng")
        spec = f"{name}>={gcc}" if gcc else name
        since = f": {one.version} came with GCC {gcc}" if gcc else ""
        message = f"Install a newer libstdc++ into the conda environment{since}."
        return (Fix(message, (conda_install(on.python, spec),), "reinstall-package", verify=proof),)
    own = next((c for c in conda_of(on.python) if c.name in _CXX_PACKAGES), None)
    if "libstdc++" in one.path and own is not None:
        return (_own_libstdcxx(on, own, gcc, proof),)
    return _built_here(on, one, proof)


def _own_libstdcxx(on: OnPython, own: CondaPackage, gcc: str | None, proof: Task | None) -> Fix:
    """Let the environment's copy be loaded first; LD_LIBRARY_PATH would give programs its other libraries, too."""
    copy, preloaded = f"{present(on.python.prefix)}/lib/libstdc++.so.6", on.facts.host.environment.get("LD_PRELOAD")
    tasks: Tasks = (export("LD_PRELOAD", copy, "before"),)
    which = f" (GCC {own.version})"
    if gcc and numbers(own.version) < numbers(gcc):
        tasks = (conda_install(on.python, f"{own.name}>={gcc}"), *tasks)
        which = f", in GCC {gcc} or newer,"
    message = (
        f"Load {copy} of the conda environment{which} before anything loads the older one. To make it permanent, set "
        f"it where the program is started.{lasting(on.facts)}"
    )
    undo = export("LD_PRELOAD", preloaded) if preloaded else unset("LD_PRELOAD")
    return Fix(message, tasks, "change-environment", undo=(undo,), verify=proof)


def _linked_again(on: OnPython, proof: Task | None) -> tuple[Fix, ...]:
    """Bring back the link by which the loader finds the conda environment's own libstdc++."""
    file = max(on.python.unlinked_libstdcxx, key=numbers_in)
    link = file[: file.index(".so.6") + len(".so.6")]
    own = [c for c in conda_of(on.python) if c.name in _CXX_PACKAGES]
    again = "Install the same libstdc++ into the conda environment again, which restores the link."
    found = (Fix(again, (conda_again(on.python, *own),), "reinstall-package", verify=proof),) if own else ()
    message = f"Make the missing link to {file.rpartition('/')[2]} by hand."
    task = cmd("ln", "-sf", file.rpartition("/")[2], link)
    return (*found, Fix(message, (task,), "change-environment", undo=(cmd("rm", link),), verify=proof))


def _on_path(facts: Facts, path: str) -> list[str]:
    """The entries of LD_LIBRARY_PATH that lead to a file; with oneAPI's setvars.sh all that it has added."""
    entries = [e for e in facts.host.environment.get("LD_LIBRARY_PATH", "").split(":") if e]
    folder = path.rpartition("/")[0]
    if folder not in {entry.rstrip("/") for entry in entries}:
        return []
    root = facts.host.environment.get("ONEAPI_ROOT", "").rstrip("/")
    if root and folder.startswith(f"{root}/"):
        return [entry for entry in entries if entry.startswith(f"{root}/")]
    return [entry for entry in entries if entry.rstrip("/") == folder]


def without_oneapi(facts: Facts, path: str, proof: Task | None) -> tuple[Fix, ...]:
    """Take oneAPI off LD_LIBRARY_PATH, from which a library of it is loaded."""
    fix = without_library_path(facts, _on_path(facts, path), proof, libraries="oneAPI libraries")
    return (fix,) if in_container(facts) else (fix, _fresh_shell(proof))


def own_first(facts: Facts, folder: str, proof: Task | None) -> Fix:
    """Let the loader search a directory of the environment before the other directories of LD_LIBRARY_PATH."""
    variable = "LD_LIBRARY_PATH"
    value = facts.host.environment.get(variable, "")
    message = (
        f"Put {folder}, where the wheels' own libraries are, first in {variable}. To make it permanent, set it where "
        f"it is set: {places(facts)}."
    )
    task, undo = export(variable, folder, "before"), export(variable, value)
    return Fix(message, (task,), "change-environment", undo=(undo,), verify=proof)


def _fresh_shell(proof: Task | None) -> Fix:
    message = "Start a new shell in which setvars.sh of oneAPI is not sourced; remove it from ~/.bashrc and ~/.profile."
    return Fix(message, (), "change-environment", verify=proof)


def _newer_linker(on: OnPython, one: OldCopy, proof: Task | None) -> Fix | None:
    """A newer nvJitLink, where that is the copy; it keeps the symbols of all older minor releases.

    https://github.com/NVIDIA/cccl/pull/4851 lists those of one release.
    """
    found = re.search(r"nvJitLink\w*_(\d+)_(\d+)$", one.version)
    if found is None:
        return None
    major, number = found[1], f"{found[1]}.{found[2]}"
    message = (
        f"Install nvJitLink {number} or newer of CUDA {major}: it keeps the functions of older minor releases, so what "
        f"was built with those works too.{lasting(on.facts)}"
    )
    if any(c.name == "libnvjitlink" for c in conda_of(on.python)):
        task = conda_install(on.python, f"libnvjitlink>={number},<{int(major) + 1}")
    else:
        name = f"nvidia-nvjitlink-cu{major}" if int(major) < 13 else "nvidia-nvjitlink"
        task = install(on.python, f"{name}>={number},<{int(major) + 1}")
    return Fix(message, (task,), "reinstall-package", verify=proof)


def _older_glibc(on: OnPython, one: OldCopy, proof: Task | None) -> tuple[Fix, ...]:
    number = one.version.rpartition("_")[2]
    system = (
        f"Use a distribution or a container image with glibc {number} or newer (Ubuntu 22.04 has 2.35, Debian 12 2.36, "
        "RHEL 9 2.34); glibc itself must not be replaced."
    )
    return (*_built_here(on, one, proof), Fix(system, (), "reinstall-package", verify=proof))


def _built_here(on: OnPython, one: OldCopy, proof: Task | None) -> tuple[Fix, ...]:
    """Build the package from source with this machine's compiler and libraries; a framework nobody builds."""
    name, _, version = one.who.rpartition(" ")
    if not any(p.name == name for p in packages_of(on.python)):
        message = "Install a release of it whose wheels are built for this distribution, or use a newer distribution."
        return (Fix(message, (), "reinstall-package", verify=proof),)
    message = (
        f"Build {name} from source here, which needs nvcc and a C++ compiler, or install a release whose wheel was "
        f"built on an older distribution.{lasting(on.facts)}"
    )
    options = ("--no-build-isolation", "--no-cache-dir", "--no-binary", name)
    command = install(on.python, f"{name}=={release(version)}", force=True, no_deps=True, options=options)
    return (Fix(message, (command,), "reinstall-package", verify=proof),)


def clear_executable_stack(facts: Facts, files: tuple[str, ...], proof: Task | None) -> Fix:
    """Clear the mark in libraries that ask for an executable stack; distributions with glibc 2.41 have patchelf 0.18.

    Older releases of patchelf have no such option.
    """
    names = " and ".join(path.rpartition("/")[2] for path in files[:4])
    message = (
        f"Clear the mark in {names}{' and others' if files[4:] else ''} with patchelf 0.18 or newer: assembly without "
        f"a .note.GNU-stack section sets it by accident.{lasting(facts)}"
    )
    tasks = (*install_system(facts, "patchelf"), cmd("patchelf", "--clear-execstack", *files))
    undo = (cmd("patchelf", "--set-execstack", *files),)
    return Fix(message, tasks, "reinstall-package", root=True, undo=undo, verify=proof)


def without_compiled_part(on: OnPython, one: PackageImport, row: Survived) -> tuple[Fix, ...]:
    """Install a build of a package whose compiled part loads here: this machine's own, from source, or a newer one."""
    proof, name = import_proof(on, one), one.package
    found = jetson.wheels(on.facts)
    if found is None:
        newer = f"Upgrade {name} to a release that is built for this CUDA or ROCm and this GPU.{lasting(on.facts)}"
        return (Fix(newer, (install(on.python, name, upgrade=True),), "reinstall-package", verify=proof),)
    task = install(on.python, name, index=found.index or None, force=True, no_deps=True)
    wheel = jetson.other_wheel(on.facts, on.python, name, (task,), proof)
    message = (
        f"Build {name} {one.version} from source on this Jetson, with the nvcc of JetPack {found.jetpack} (its package "
        f"nvidia-jetpack) and cmake.{lasting(on.facts)}"
    )
    built = Fix(message, _from_source(on, one, row), "reinstall-package", verify=proof)
    return (*((wheel,) if wheel else ()), built)


def on_path(on: OnPython, one: PackageImport, program: str, system_package: str) -> tuple[Fix, ...]:
    """Let a package find a program of ROCm: in the ROCm that is here, else from the distribution's package."""
    proof, rocm = import_proof(on, one), known_or(on.facts.amd.rocm_path, None)
    tasks = install_system(on.facts, system_package) if system.family_of(on.facts) else ()
    message = f"Install the package {system_package}, which contains {program}.{lasting(on.facts)}"
    own = Fix(message, tasks, "reinstall-package", root=True, verify=proof)
    if rocm is None:
        return (own,)
    message = f"Put the programs of ROCm on PATH, where {program} is among them.{lasting(on.facts)}"
    return Fix(message, (export("PATH", f"{rocm}/bin", "before"),), "change-environment", verify=proof), own


def _from_source(on: OnPython, one: PackageImport, row: Survived) -> Tasks:
    number = release(one.version)
    if row.build:
        gpus = gpus_of(on.facts, "nvidia")
        capability = text_of(gpus[0].capability).replace(".", "") if gpus else "native"
        words = {"version": number, "capability": capability, "python": on.python.path}
        return tuple(cmd(*(word.format(**words) for word in line.split())) for line in row.build)
    options = ("--no-build-isolation", "--no-cache-dir", "--no-binary", one.package)
    return (install(on.python, f"{one.package}=={number}", force=True, no_deps=True, options=options),)


def bring(on: OnPython, package: str, version: str, missing: tuple[str, ...]) -> tuple[Fix, ...]:
    """Bring the libraries that a package needs, or the build of it that fits what is here."""
    one = import_of(on.python, package)
    proof = import_proof(on, one) if one else None
    outside = of_driver(on.facts, missing) or of_system(on.facts, missing, proof)
    outside = outside or of_cuda_repository(on.facts, missing, proof) or shared_interpreter(on, missing, proof)
    if outside := outside or required_wheels(on, package, missing, proof):
        return outside
    releases = sorted({r for name in missing if (r := sonames.ffmpeg_of(name))}, key=int)
    if releases:
        return _ffmpeg(on, package, version, releases, proof)
    wanted = {major for name in missing for major in sonames.majors_of(name)}
    wheels = [w for name in missing if (w := sonames.wheel_of(name) or cudnn_wheel(on, name, missing))]
    fixes = [_wheels(on, wheels, proof)] if wheels else []
    cuda = next((f.cuda.partition(".")[0] for f in on.python.frameworks if isinstance(f.cuda, str)), None)
    if later := sonames.not_at_import(package, missing):
        fixes += _loads_later(on, package, later, proof)
    elif not wheels or (cuda and wanted and cuda not in wanted):
        what = f"Install a newer {package}, or what provides {missing[0]}."
        if wanted and (same := for_one_cuda(on, package, version, wanted, proof)):
            return (*same, *fixes)
        ours = phrase("Install a release of {} that is built for CUDA {}, as the other packages here.", package, cuda)
        message = ours if wanted and ours else what
        task = install(on.python, package, upgrade=True)
        fixes.append(Fix(f"{message}{lasting(on.facts)}", (task,), "reinstall-package", verify=proof))
    return tuple(fixes)


def _loads_later(on: OnPython, package: str, later: sonames.NotAtImport, proof: Task | None) -> list[Fix]:
    """Install a release that is imported without the libraries, where one is for this PyTorch."""
    torch = one_of(on.python, "torch")
    if torch is None or numbers(text_of(torch.version)) < numbers(later.torch):
        return []
    message = f"Install {package} {later.since} or newer, which needs them only {later.use}.{lasting(on.facts)}"
    return [Fix(message, (install(on.python, f"{package}>={later.since}"),), "reinstall-package", verify=proof)]


def let_find(on: OnPython, package: str, copies: tuple[str, ...]) -> tuple[Fix, ...]:
    """Let the loader find libraries that are in the environment; or a release of the package that needs none."""
    folders = dict.fromkeys(path.rpartition("/")[0] for path in copies)
    message = f"Let the loader search the directory of the wheel, before Python starts.{lasting(on.facts)}"
    found = Fix(message, (export("LD_LIBRARY_PATH", ":".join(folders), "before"),), "change-environment")
    if package != "ctranslate2":
        return (found,)
    first = ctranslate2_without_cudnn()
    message = f"Upgrade CTranslate2 to {first} or newer, which needs no cuDNN.{lasting(on.facts)}"
    task = install(on.python, f"ctranslate2>={first}", upgrade=True)
    return Fix(message, (task,), "reinstall-package"), found


def of_driver(facts: Facts, missing: tuple[str, ...]) -> tuple[Fix, ...]:
    """Bring libraries of the NVIDIA driver: never from a package of a container, whose release would be another."""
    found = [(name, c) for name in missing if (c := system_libraries.capability_of(name))]
    if not found:
        return ()
    name, capability = found[0]
    stem = name.partition(".so")[0]
    if in_container(facts):
        return driver_capability(facts, capability, stem)
    message = (
        f"Install the {capability} libraries of the NVIDIA driver in exactly the installed release: packages for "
        "servers without a display (headless) leave them out."
    )
    if known_or(facts.nvidia.kernel.loaded, None) is None:
        message = f"Install the NVIDIA driver: {name} comes with it, and no Python package contains it."
    return (Fix(message, (), verify=filtered(query("ldconfig", "-p"), query("grep", stem))),)


def of_cuda_repository(facts: Facts, missing: tuple[str, ...], proof: Task | None) -> tuple[Fix, ...]:
    """Install NVIDIA's packages of libraries that no wheel brings (NVPL, cuDSS); none where one has another origin."""
    rows = [system_libraries.in_cuda_repository(name, jetson.is_jetson(facts)) for name in missing]
    if not rows or None in rows:
        return ()
    cuda = text_of(known_or(driver_cuda(facts), None) or "12").partition(".")[0]
    names = dict.fromkeys(n.format(major=cuda) for row in rows if row for n in row.packages)
    arch = next((row.arch for row in rows if row and row.arch), "")
    added = toolkit.add_repository(facts, anyway=True, arch=arch)
    tasks = (*added, *install_system(facts, *names)) if added or has_source(facts, "nvidia") else ()
    message = (
        f"Install {' and '.join(names)} from NVIDIA's CUDA repository: this build links to {', '.join(missing)}, which "
        f"neither its wheel nor a requirement of it brings.{lasting(facts)}"
    )
    return (Fix(message, tasks, "reinstall-package", root=True, verify=proof),)


def of_system(facts: Facts, missing: tuple[str, ...], proof: Task | None) -> tuple[Fix, ...]:
    """Install the distribution's packages of libraries that wheels do not bring; none where one has another origin."""
    if not missing or not all(map(system_libraries.is_of_system, missing)):
        return ()
    family = system.family_of(facts)
    found = [system_libraries.package_of(name, family) if family else None for name in missing]
    names = tuple(dict.fromkeys(name for name in found if name))
    if None in found:
        message = f"Install the distribution's package that contains {', '.join(missing)}.{lasting(facts)}"
        return (Fix(message, (), root=True, verify=proof),)
    message = f"Install {' and '.join(names)}, the distribution's package of {', '.join(missing)}.{lasting(facts)}"
    return (Fix(message, install_system(facts, *names), "reinstall-package", root=True, verify=proof),)


def _wheels(on: OnPython, wheels: list[tuple[str, str]], proof: Task | None) -> Fix:
    """Install NVIDIA's wheels where the loader then finds them: no package searches all of their directories."""
    site = on.python.site_packages if isinstance(on.python.site_packages, str) else ""
    names, folders = dict.fromkeys(name for name, _ in wheels), dict.fromkeys(folder for _, folder in wheels)
    message = (
        f"Install the libraries as wheels, and let the loader search them before Python starts.{lasting(on.facts)}"
    )
    tasks: Tasks = (install(on.python, *names),)
    if site:
        paths = ":".join(f"{site}/nvidia/{folder}" for folder in folders)
        tasks += (export("LD_LIBRARY_PATH", paths, "before"),)
    return Fix(message, tasks, "reinstall-package", verify=proof)


def libraries_of_wheels(on: OnLive, missing: tuple[str, ...], proof: Task | None) -> tuple[Fix, ...]:
    """Let the loader find libraries that wheels have brought, for a framework that asks only the loader for them."""
    site, there = text_of(on.python.site_packages), {p.name for p in packages_of(on.python)}
    wheels = [wheel for name in missing if (wheel := sonames.wheel_of(name))]
    folders = dict.fromkeys(folder for name, folder in wheels if name.partition("==")[0] in there)
    if not site or not folders:
        return ()
    paths = ":".join(f"{site}/nvidia/{folder}" for folder in folders)
    message = f"Let the loader search the wheels that contain {', '.join(missing)}, before Python starts."
    return (Fix(message, (export("LD_LIBRARY_PATH", paths, "before"),), "change-environment", verify=proof),)


def _ffmpeg(on: OnPython, package: str, version: str, releases: list[str], proof: Task | None) -> tuple[Fix, ...]:
    """Bring one of the releases of FFmpeg for which the package has a build."""
    names = f"{', '.join(releases[:-1])} or {releases[-1]}" if releases[1:] else releases[0]
    table, here = sonames.sonames().ffmpeg, on.facts.host.distribution
    key = f"{text_of(here.id)} {text_of(here.version)}"
    fixes = []
    if table.distributions.get(key) in releases:
        tasks = install_system(on.facts, "ffmpeg")
        fixes.append(
            Fix(
                f"Install this distribution's FFmpeg, {table.distributions[key]}.",
                tasks,
                "reinstall-package",
                root=True,
                verify=proof,
            )
        )
    elif package == "torchcodec" and (bugs := regressions("torchcodec", release(version), sign="FFmpeg 4")):
        fixed = bugs[0].fixed
        message = f"Install torchcodec {fixed}, which has a build for FFmpeg 4 too.{lasting(on.facts)}"
        fixes.append(Fix(message, (install(on.python, f"torchcodec=={fixed}"),), "reinstall-package", verify=proof))
    if on.python.kind == "conda" or manager_of(on.python) in ("conda", "pixi"):
        task = conda_install(on.python, f"ffmpeg>={releases[0]},<{int(releases[-1]) + 1}")
        fixes.insert(
            0, Fix(f"Install FFmpeg {names} into the conda environment.", (task,), "reinstall-package", verify=proof)
        )
    if not fixes:
        message = f"Install FFmpeg {names} with its shared libraries: {package} has builds for these releases."
        fixes.append(Fix(message, (), verify=proof))
    return tuple(fixes)
