"""Let llama.cpp find the libraries of its backend: by the loader's directories, by packages, by an image or a build.

https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md and docker.md next to it.
"""

import re
from collections.abc import Sequence
from posixpath import basename, dirname

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Need
from gpudoctor.fixes import amd, nixos, system, toolkit
from gpudoctor.fixes.container import again, engine
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.loading import of_system
from gpudoctor.fixes.python import lasting
from gpudoctor.knowledge import llama_cpp, sonames, toolkits
from gpudoctor.maybe import known_or, present, text_of
from gpudoctor.targets import has_rocm, in_container, in_system_container
from gpudoctor.tasks import Edit, Shell, Task, Tasks, as_root, cmd, export, filtered, query
from gpudoctor.tasks.placeholders import CONTAINER

_CONF = "/etc/ld.so.conf.d/llama-cpp.conf"
_SETVARS = "/opt/intel/oneapi/setvars.sh"
_TREE = re.compile(r"(?P<source>/.+)/(?P<build>build[\w.-]*)/bin/[\w.-]+")


def proof(facts: Facts) -> Task:
    """What lists the devices that the program can use; whisper.cpp's has no such option."""
    return _lists(present(facts.llama_cpp.program))


def _lists(program: str) -> Task:
    if basename(program).startswith("llama"):
        return query(program, "--list-devices")
    return filtered(query("ldd", program), query("grep", "not found"))


def let_find(facts: Facts, missing: Sequence[Need]) -> tuple[Fix, ...]:
    """Let the loader search the directories of the copies that are here.

    Args:
        facts: the machine, with llama.cpp.
        missing: libraries that all have a copy.
    """
    folders = tuple(dict.fromkeys(dirname(need.copies[0]) for need in missing))
    joined = ":".join(folders)
    if all("/intel/oneapi/" in folder for folder in folders):
        message = "Activate oneAPI in the shell that starts it, before it starts: setvars.sh sets LD_LIBRARY_PATH."
        return (Fix(message, (Shell(f". {_SETVARS}"),), "change-environment", verify=proof(facts)),)
    shell = Fix(
        "Set LD_LIBRARY_PATH in the shell or the service that starts it.",
        (export("LD_LIBRARY_PATH", joined, "before"),),
        "change-environment",
        verify=proof(facts),
    )
    if nixos.is_nixos(facts):  # which reads no ld.so.conf
        return (shell,)
    names = " and ".join(folders)
    message = f"Add {names} to the directories that the loader searches (ld.so.conf).{lasting(facts)}"
    conf = Fix(
        message,
        (Edit(_CONF, text="".join(f"{folder}\n" for folder in folders), root=True), as_root("ldconfig")),
        "change-environment",
        root=True,
        undo=(Edit(_CONF, gone=True, root=True), as_root("ldconfig")),
        verify=proof(facts),
    )
    tree = _TREE.fullmatch(present(facts.llama_cpp.program))
    return (conf, shell, _with_rpath(facts, tree, folders)) if tree else (conf, shell)


def _with_rpath(facts: Facts, tree: re.Match[str], folders: Sequence[str]) -> Fix:
    """Build again with the directories in RUNPATH, as docs/build.md does it for another CUDA."""
    build = f"{tree['source']}/{tree['build']}"
    paths = ";".join((*folders, "$ORIGIN"))
    options = (f"-DCMAKE_INSTALL_RPATH={paths}", "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON")
    tasks = (cmd("cmake", "-S", tree["source"], "-B", build, *options), cmd("cmake", "--build", build))
    message = "Build it again with the directory in its RUNPATH, which needs no setting on this machine."
    return Fix(message, tasks, "reinstall-package", verify=proof(facts))


def bring(facts: Facts, kind: str, missing: Sequence[Need]) -> tuple[Fix, ...]:
    """Install libraries of which there is no copy, or use a build that does not need them.

    Args:
        facts: the machine, with llama.cpp.
        kind: the backend that needs them.
        missing: libraries without a copy.
    """
    names = tuple(need.soname for need in missing)
    installed = (
        of_system(facts, names, proof(facts))
        or (kind == "cuda" and _cuda(facts, names))
        or (kind == "hip" and _rocm(facts, names))
        or _by_hand(facts, kind, names)
    )
    own = image(facts, kind)
    return (own, *installed) if own else (*installed, build(facts, kind))


def _cuda(facts: Facts, names: Sequence[str]) -> tuple[Fix, ...]:
    """NVIDIA's package of CUDA's libraries, of the major that the build asks for."""
    majors = {major for name in names for major in sonames.majors_of(name)}
    family, row = system.family_of(facts), toolkit.repository_of(facts)
    release = toolkits.nearest(row, f"{majors.pop()}.99") if len(majors) == 1 else None
    newest = toolkits.toolkits().toolkit.releases[-1]  # the only one that Arch has
    if release is None or family is None or (row is None and (family != "arch" or release != newest)):
        return ()
    message = f"Install the libraries of CUDA {release} (this package contains no driver).{lasting(facts)}"
    name = llama_cpp.cuda_libraries(family, release)
    tasks: Tasks = (*toolkit.add_repository(facts, anyway=True), *install_system(facts, name), as_root("ldconfig"))
    return (Fix(message, tasks, "reinstall-package", root=True, verify=proof(facts)),)


def _rocm(facts: Facts, names: Sequence[str]) -> tuple[Fix, ...]:
    """The packages of the ROCm that is installed, or of a distribution that has ROCm itself."""
    family, rocm = system.family_of(facts), known_or(facts.amd.rocm, None)
    of_fedora = text_of(facts.host.distribution.id) == "fedora"
    packages = [llama_cpp.rocm_package_of(name, "fedora" if of_fedora else "amd") for name in names]
    other = rocm and any(there != name for name in names if (there := sonames.rocm_soname_in(name, rocm)))
    of_debian = family == "debian" and text_of(facts.amd.rocm_path) == "/usr"
    if None in packages or other or of_debian or not (has_rocm(facts) or of_fedora or family == "arch"):
        return ()
    found = tuple(dict.fromkeys(name for name in packages if name))
    message = f"Install {', '.join(found)} for the missing libraries of ROCm.{lasting(facts)}"
    tasks = (*install_system(facts, *found), as_root("ldconfig"))
    return (Fix(message, tasks, "reinstall-package", root=True, verify=proof(facts)),)


def _by_hand(facts: Facts, kind: str, names: Sequence[str]) -> tuple[Fix, ...]:
    """Which release to install, where no commands are known for this system."""
    title = llama_cpp.table().backend[kind].title
    of = next((f" {found[0]} or newer" for name in names if (found := sonames.rocm_releases_of(name))), "")
    guide = f" {amd.INSTALL}" if kind == "hip" else ""
    packages = [one for name in names if kind == "hip" and (one := llama_cpp.rocm_package_of(name, "amd"))]
    listed = f" (packages {', '.join(dict.fromkeys(packages))})" if packages else ""
    message = (
        f"Install the {title}{of} that it was built with{listed}: each major release has other names of libraries."
        f"{guide}{lasting(facts)}"
    )
    return (Fix(message, (), "reinstall-package", root=True, verify=proof(facts)),)


def image(facts: Facts, kind: str) -> Fix | None:
    """The project's own image with a backend and its libraries; None outside of a container that is an image."""
    name = llama_cpp.image_with(basename(present(facts.llama_cpp.program)), kind)
    if name is None or not in_container(facts) or in_system_container(facts):
        return None
    title = llama_cpp.table().backend[kind].title
    message = f"On the host, recreate the container with its options from an image that has {title}: {name}."
    program = engine(facts)
    if program not in ("docker", "podman"):
        return again(message, verify=proof(facts))
    return again(
        message, cmd(program, "pull", name), verify=filtered(query(program, "logs", CONTAINER), query("grep", "ggml"))
    )


def build(facts: Facts, kind: str, target: str = "") -> Fix:
    """Build it here with a backend.

    Args:
        facts: the machine, with llama.cpp.
        kind: the backend.
        target: what its code is compiled for, as CMake names it: "120", "gfx1100"; "": what CMake chooses.
    """
    row, program = llama_cpp.table().backend[kind], present(facts.llama_cpp.program)
    name = basename(program)
    repository, tree = llama_cpp.repository_of(name), _TREE.fullmatch(program)
    source = tree["source"] if tree else repository.rpartition("/")[2]
    out = f"{source}/{tree['build']}" if tree else f"{source}/build"
    clone: Tasks = () if tree else (cmd("git", "clone", repository),)
    options = (f"-D{row.option}=ON", *((f"-D{row.target}={target}",) if target else ()))
    tasks = (*clone, cmd("cmake", "-S", source, "-B", out, *options), cmd("cmake", "--build", out))
    with_code = f", with code for this GPU ({row.target}={target})" if target else ""
    message = (
        f"Build it on this machine with {row.title} ({row.option}=ON), whose development files that needs{with_code}."
    )
    return Fix(message, tasks, "reinstall-package", verify=_lists(f"{out}/bin/{name}"))
