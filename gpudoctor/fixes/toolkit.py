"""Fixes that provide an nvcc of the right CUDA release."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes import system
from gpudoctor.fixes.python import conda_install, conda_of
from gpudoctor.knowledge import packages, repositories
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.queries.packages import major
from gpudoctor.queries.repositories import has_source
from gpudoctor.targets import in_container
from gpudoctor.tasks import Tasks, as_root, export, query

_IMAGES = "https://hub.docker.com/r/nvidia/cuda"


def toolkit(facts: Facts, python: Python, wanted: str) -> Fix:
    """Build with an installed toolkit of this CUDA major, else install one; it contains no driver.

    Args:
        facts: the machine.
        python: the environment.
        wanted: the CUDA release of the framework, "12.4".

    Raises:
        UnknownFactError: the installed toolkits could not be read.
    """
    return installed_toolkit(facts, wanted) or new_toolkit(facts, python, wanted)


def installed_toolkit(facts: Facts, wanted: str) -> Fix | None:
    """Build with another installed toolkit of this major; None where none has an nvcc."""
    there = {nvcc.path.removesuffix("/bin/nvcc") for nvcc in known_or(facts.toolkits.nvccs, ())}
    for directory, version in known_or(facts.toolkits.installed, ()):
        if version and major(version) == major(wanted) and directory in there:
            return build_with(directory, version)
    return None


def build_with(directory: str, version: str) -> Fix:
    """Build with an installed toolkit.

    Args:
        directory: where it is.
        version: its CUDA release.
    """
    commands = (export("CUDA_HOME", directory), export("PATH", f"{directory}/bin", "before"))
    message = f"Build with CUDA Toolkit {version}, which is also installed."
    return Fix(message, commands, "change-environment", verify=query("nvcc", "--version"))


def new_toolkit(facts: Facts, python: Python | None, wanted: str) -> Fix:
    """Install a toolkit of this release, which contains no driver, and build with it.

    Args:
        facts: the machine.
        python: the environment, into which conda installs it; None: there is none.
        wanted: the CUDA release, "12.8".
    """
    if python is not None and conda_of(python):
        command = conda_install(python, f"cuda-nvcc={wanted}", f"cuda-cudart-dev={wanted}", channel="nvidia")
        return Fix(f"Install nvcc {wanted} into this conda environment.", (command,), "reinstall-package")
    family, directory = system.family_of(facts), f"/usr/local/cuda-{wanted}"
    message = (
        f"Install CUDA Toolkit {wanted} from NVIDIA's repository (this package contains no driver), and build with it."
    )
    commands: Tasks = (export("CUDA_HOME", directory), export("PATH", f"{directory}/bin", "before"))
    if family:
        name = packages.cuda_toolkit_package(family, wanted)
        commands = (*_repository(facts), *system.install(facts, name), *commands)
    return Fix(message, commands, "reinstall-package", root=True, verify=query("nvcc", "--version"))


def _repository(facts: Facts) -> Tasks:
    """Add NVIDIA's repository where Debian has none that brings the toolkit; the other distributions' is not known."""
    own = facts.host.distribution
    if own.id != "debian" or isinstance(facts.host.sources, Unknown) or has_source(facts, "nvidia"):
        return ()
    machine = known_or(facts.host.architecture, None) or "x86_64"
    added = repositories.commands("debian", known_or(own.version, None) or "", machine)
    return (*added, as_root("apt-get", "update")) if added else ()


def devel_image(facts: Facts, wanted: str) -> tuple[Fix, ...]:
    """For a container: images named runtime have no compiler, those named devel do."""
    if not in_container(facts):
        return ()
    message = (
        f"Use an image with the compiler: a tag that ends in -devel (nvidia/cuda:{wanted}.x-devel-..., "
        f"pytorch/pytorch:...-devel) instead of -runtime or -base. {_IMAGES}"
    )
    return (Fix(message, (), "change-environment", needs="a new container", verify=query("nvcc", "--version")),)
