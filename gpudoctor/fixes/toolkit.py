"""Fixes that provide an nvcc of the right CUDA release."""

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes import debian_driver, system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import conda_install, conda_of
from gpudoctor.knowledge import packages, toolkits
from gpudoctor.maybe import Unknown, known_or, text_of
from gpudoctor.queries.packages import major, numbers
from gpudoctor.queries.repositories import has_source
from gpudoctor.targets import in_container, on_wsl
from gpudoctor.tasks import Command, Tasks, as_root, export, query

_KIND: Action = "reinstall-package"
_IMAGES = "https://hub.docker.com/r/nvidia/cuda"
_OF_ARCH = "/opt/cuda"
_ARCHIVE = "https://developer.nvidia.com/cuda-toolkit-archive"


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
    commands = use(directory)
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
        return Fix(f"Install nvcc {wanted} into this conda environment.", (in_conda(python, wanted),), _KIND)
    if facts.host.platform == "jetson":
        commands: Tasks = (as_root("apt-get", "update"), as_root("apt-get", "install", "nvidia-jetpack"))
        message = "Install CUDA and cuDNN of this JetPack release: nvcc is in /usr/local/cuda/bin."
        return Fix(message, (*commands, *use("/usr/local/cuda")), _KIND, root=True, verify=query("nvcc", "--version"))
    family = system.family_of(facts)
    there = dict(known_or(facts.toolkits.installed, ())).get(_OF_ARCH)
    if family == "arch" and there and major(there) != major(wanted):
        message = (
            f"Install CUDA Toolkit {wanted} by NVIDIA's runfile ({_ARCHIVE}), without its driver, and build with it: "
            f"Arch's package cuda has one release alone, here {there}."
        )
        return Fix(message, use(f"/usr/local/cuda-{wanted}"), _KIND, verify=query("nvcc", "--version"))
    if own := _distributions_own(facts, wanted):
        return own
    message = (
        f"Install CUDA Toolkit {wanted} from NVIDIA's repository (this package contains no driver), and build with it."
    )
    commands = use(_OF_ARCH if family == "arch" else f"/usr/local/cuda-{wanted}")
    if family:
        name = packages.cuda_toolkit_package(family, wanted)
        commands = (*add_repository(facts), *system.install(facts, name), *commands)
    return Fix(message, commands, _KIND, root=True, verify=query("nvcc", "--version"))


def _distributions_own(facts: Facts, wanted: str) -> Fix | None:
    """The distribution's own toolkit where it is of this release, and NVIDIA's repository for it begins later."""
    own, row = facts.host.distribution, repository_of(facts)
    if row is None or row.has(wanted) or toolkits.own_toolkit(text_of(own.id), text_of(own.version)) != wanted:
        return None
    enabled, why = debian_driver.components(facts)
    message = f"Install {text_of(own.name)}'s own CUDA Toolkit {wanted}, and build with it.{why}"
    refresh = packages.refresh_command("debian")
    commands = (*enabled, refresh, *system.install(facts, "nvidia-cuda-toolkit"), *use("/usr"))
    return Fix(message, commands, _KIND, root=True, verify=query("nvcc", "--version"))


def in_conda(python: Python, wanted: str, *more: str) -> Command:
    """The command that installs a toolkit into conda's environment: conda-forge has it since CUDA 12.

    Args:
        python: the environment.
        wanted: the CUDA release.
        more: further packages.
    """
    channel = "conda-forge" if int(wanted.partition(".")[0]) >= 12 else "nvidia"
    return conda_install(python, f"cuda-toolkit={wanted}", *more, channel=channel)


def use(directory: str) -> Tasks:
    """Set the variables by which builds find a toolkit."""
    return export("CUDA_HOME", directory), export("PATH", f"{directory}/bin", "before")


def repository_of(facts: Facts) -> toolkits.ToolkitRepository | None:
    """NVIDIA's repository for this distribution; WSL has one without a driver."""
    own = facts.host.distribution
    name = known_or(own.id, None) or ""
    return toolkits.repository("wsl" if on_wsl(facts) and name == "ubuntu" else name, known_or(own.version, None) or "")


def add_repository(facts: Facts, *, anyway: bool = False, arch: str = "") -> Tasks:
    """Add NVIDIA's repository where this machine has none.

    Args:
        facts: the machine.
        anyway: also where its sources were not read: to add it again does no harm.
        arch: whose packages it has, as NVIDIA writes it ("sbsa"); "": this machine's.
    """
    row, unread = repository_of(facts), isinstance(facts.host.sources, Unknown)
    if row is None or has_source(facts, "nvidia") or (unread and not anyway):
        return ()
    return toolkits.adding(row, arch or toolkits.arch_of(known_or(facts.host.architecture, None)), driver=unread)


def packaged(facts: Facts, wanted: str) -> str:
    """The toolkit in NVIDIA's repository for this machine that serves for a release: it, or the next of its major.

    Args:
        facts: the machine.
        wanted: the CUDA release, "12.4".
    """
    row = repository_of(facts)
    if row is None or row.has(wanted):
        return wanted
    there = [r for r in toolkits.toolkits().toolkit.releases if major(r) == major(wanted) and row.has(r)]
    newer = [one for one in there if numbers(one) > numbers(wanted)]
    return (newer or there[-1:] or [wanted])[0]


def host_compiler(facts: Facts, gcc: int) -> Tasks:
    """Install a gcc that an nvcc accepts next to the distribution's own, and make nvcc use it.

    Args:
        facts: the machine.
        gcc: its major version.
    """
    names = {
        "debian": (f"gcc-{gcc}", f"g++-{gcc}"),
        "fedora": (f"gcc{gcc}-c++",),
        "suse": (f"gcc{gcc}-c++",),
        "arch": (f"gcc{gcc}",),
    }.get(system.family_of(facts) or "", ())
    return (*(install_system(facts, *names) if names else ()), export("NVCC_CCBIN", f"/usr/bin/g++-{gcc}"))


def devel_image(facts: Facts, wanted: str) -> tuple[Fix, ...]:
    """For a container: images named runtime have no compiler, those named devel do."""
    if not in_container(facts):
        return ()
    message = (
        f"Use an image with the compiler: a tag that ends in -devel (nvidia/cuda:{wanted}.x-devel-..., "
        f"pytorch/pytorch:...-devel) instead of -runtime or -base. {_IMAGES}"
    )
    return (Fix(message, (), "change-environment", needs="a new container", verify=query("nvcc", "--version")),)
