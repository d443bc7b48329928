"""Fixes of Jetsons, whose wheels come from an index of their own."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes import system
from gpudoctor.knowledge import jetson
from gpudoctor.tasks import Shell, Task, Tasks, as_root, cmd, query

GUIDE = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"


def is_jetson(facts: Facts) -> bool:
    """Whether this is Jetson Linux, on the board or in a container with its release file."""
    return facts.host.platform == "jetson" or isinstance(facts.host.l4t, str)


def wheels(facts: Facts) -> jetson.JetPackRelease | None:
    """The JetPack of this machine; None where its release is not known."""
    return jetson.release(facts.host.l4t) if isinstance(facts.host.l4t, str) else None


def install_wheels(facts: Facts, python: Python, names: tuple[str, ...], tasks: Tasks, verify: Task) -> Fix:
    """Install the wheels that are built for this JetPack.

    Args:
        facts: the machine.
        python: the environment.
        names: the packages.
        tasks: what is done where the environment's Python is the one that the wheels are for.
        verify: the command that shows that it helped.
    """
    found = wheels(facts)
    jetpack = f"JetPack {found.jetpack}" if found else "this JetPack release"
    message = (
        f"Install the PyTorch wheel that NVIDIA builds for {jetpack}; those of PyPI and pytorch.org have no code for it"
    )
    if found is None or not found.index:
        return Fix(f"{message}: {GUIDE}", action="reinstall-package", verify=verify)
    own = ".".join(python.version.split(".")[:2]) if isinstance(python.version, str) else found.python
    if own == found.python:
        return Fix(f"{message}. {GUIDE}", tasks, "reinstall-package", verify=verify)
    made = f"{python.prefix if isinstance(python.prefix, str) else 'env'}-jetson"
    install = cmd(f"{made}/bin/python", "-m", "pip", "install", "--index-url", found.index, *names)
    message = f"{message}. They are for Python {found.python}, so make an environment of that. {GUIDE}"
    return Fix(message, (cmd(f"python{found.python}", "-m", "venv", made), install), "reinstall-package", verify=verify)


KERNEL_GUIDE = "https://docs.nvidia.com/jetson/archives/r36.4/DeveloperGuide/SD/Kernel/KernelCustomization.html"
# Packages with the kernel and its modules, of which a release of Jetson Linux has all or some.
_KERNEL_PACKAGES = ("nvidia-l4t-kernel", "nvidia-l4t-display-kernel", "nvidia-l4t-kernel-oot-modules")


def matching_modules(facts: Facts) -> tuple[Fix, ...]:
    """Bring the kernel and NVIDIA's modules to one build: NVIDIA's own, or all built from one tree."""
    listed = [name for name in system.driver_packages(facts) if name in _KERNEL_PACKAGES]
    names = listed or list(_KERNEL_PACKAGES[:2])
    verify = query("modprobe", "-v", "nvidia", root=True)
    back = Fix(
        "Go back to NVIDIA's kernel, with its modules, then reboot.",
        (*system.reinstall(facts, *names), as_root("reboot")),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        verify=verify,
    )
    message = (
        "To keep your own kernel: build NVIDIA's out-of-tree modules (nvidia-oot, nvgpu, nvdisplay) against it, in "
        f"Linux_for_Tegra/source, and install them together with it. {KERNEL_GUIDE}"
    )
    build = Shell("export KERNEL_HEADERS=$PWD/kernel/kernel-jammy-src && make modules && sudo -E make modules_install")
    return back, Fix(message, (build,), "reinstall-package", needs="reboot", impact="persistent", verify=verify)


def other_wheel(facts: Facts, python: Python, name: str, tasks: Tasks, verify: Task) -> Fix | None:
    """Install a package from the Jetson AI Lab's index for this JetPack; None where it has none for this Python.

    Args:
        facts: the machine.
        python: the environment.
        name: the package.
        tasks: what is done.
        verify: the command that shows that it helped.
    """
    found = wheels(facts)
    own = ".".join(python.version.split(".")[:2]) if isinstance(python.version, str) else ""
    if found is None or not found.index or own != found.python:
        return None
    message = f"Install the {name} wheel that is built for JetPack {found.jetpack}, from {found.index}."
    return Fix(message, tasks, "reinstall-package", verify=verify)
