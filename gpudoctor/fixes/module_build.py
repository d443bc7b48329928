"""Why NVIDIA's kernel module did not compile here, and what makes it compile: by the first error of the log."""

import re

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.fixes.boot import into_kernel
from gpudoctor.fixes.driver import best_branch, flavor_for, generations_of, install_driver, newest_release
from gpudoctor.fixes.system import kernel_of as kernel_of
from gpudoctor.knowledge import build_errors, drivers, packages
from gpudoctor.knowledge.kernels import version as numbers
from gpudoctor.maybe import known_or
from gpudoctor.queries.driver import branch, library_version, module_flavor
from gpudoctor.tasks import Shell, Tasks, as_root, cmd, query

_LLVM = ("clang", "lld", "llvm")
_LIBELF = {"debian": "libelf-dev", "fedora": "elfutils-libelf-devel", "suse": "libelf-devel", "arch": "libelf"}


def first_error(facts: Facts) -> build_errors.BuildError | None:
    """What the log's first error means; None where no line of it is known."""
    return build_errors.first(facts.nvidia.kernel.dkms_errors)


def tried(facts: Facts) -> str | None:
    """The version whose build failed: the entry that is not installed for the running kernel."""
    entries = facts.nvidia.kernel.dkms if isinstance(facts.nvidia.kernel.dkms, tuple) else ()
    release = kernel_of(facts)
    installed = {e.version for e in entries if e.kernel == release and e.state.startswith("installed")}
    return next((e.version for e in reversed(entries) if e.version not in installed), None)


def sentence(facts: Facts, error: build_errors.BuildError) -> str:
    """Why the build failed, with this machine's version and kernel."""
    return error.why.format(version=tried(facts) or "this driver", kernel=kernel_of(facts))


def fixes(facts: Facts, error: build_errors.BuildError | None) -> tuple[Fix, ...]:
    """What makes the build succeed, or another driver or kernel where nothing does."""
    kind, what = (error.kind, error.what) if error else ("", "")
    if kind in ("package", "tool"):
        return (_install(facts, what),)
    compiler = known_or(facts.host.kernel.compiler, None)
    if kind == "compiler" and compiler:
        return (_matching_compiler(facts, compiler),)
    if kind == "compiler-crash":
        return _without_crash(facts)
    if kind == "realtime":
        return for_realtime(facts)
    if kind == "gpl-only":
        return (*_open_modules(facts), *_newer_branch(facts), _other_kernel(facts))
    if kind == "interrupted":
        return (_build(facts, "Build the module again.", system.finished(facts)),)
    if kind in ("no-space", "memory"):
        return (_with_room(facts, kind),)
    if kind == "linker":
        return _with_lld(facts)
    if kind == "foreign-tools" and system.family_of(facts) == "debian":
        return (_own_tools(facts),)
    if kind in ("headers", "foreign-tools"):
        message = "Install the running kernel's headers again, then build the module and load it."
        return (_build(facts, message, module.headers(facts)),)
    known, later = _newer_release(facts)
    newer, other = _newer_branch(facts), _other_kernel(facts)
    # A kernel that is there and has the module comes before a driver of another source.
    foreign = _built_for(facts) and facts.host.distribution.id == "debian"
    rest = (other, *newer) if foreign else (*newer, other)
    return (*_proprietary_modules(facts), *known, *rest, *later)


def _build(facts: Facts, message: str, first: Tasks, undo: Tasks = ()) -> Fix:
    last, needs, _ = module.loading(facts)
    commands = tuple(dict.fromkeys((*first, *module.build_commands(facts), last)))
    return Fix(message, commands, "reinstall-package", root=True, needs=needs, undo=undo, verify=query("nvidia-smi"))


def _install(facts: Facts, what: str) -> Fix:
    names = _packages(facts, what)
    message = f"Install {', '.join(names[:-1])}{' and ' if names[1:] else ''}{names[-1]}, which the build needs"
    return _build(facts, f"{message}, then rebuild the module.", system.install(facts, *names))


def _own_tools(facts: Facts) -> Fix:
    """Debian's package with the kernel's build tools is of one architecture at a time (Multi-Arch: foreign)."""
    message = (
        "Install the kernel's build tools (linux-kbuild) for this machine's architecture, which replaces those for "
        "i386, then rebuild the module."
    )
    listed = query("dpkg", "-l", "linux-kbuild-*")
    own = Shell("sudo apt-get install $(dpkg-query -W -f='${Package}:amd64 ' 'linux-kbuild-*:i386')")
    return _build(facts, message, (listed, own))


def _packages(facts: Facts, what: str) -> tuple[str, ...]:
    """The packages of a program or package that a build log names."""
    family = system.family_of(facts)
    name, _, version = what.rpartition("gcc-")
    if what.startswith(("clang", "ld.lld", "llvm-")):
        return _LLVM
    if version.isdigit() and name in ("", "x86_64-linux-gnu-", "aarch64-linux-gnu-"):
        return (_gcc(facts, "gcc", version),)
    if what in ("g++", "c++"):
        return ({"debian": "g++", "arch": "gcc"}.get(family or "", "gcc-c++"),)
    if what in ("cc", "gcc", "make") and family:
        return packages.compiler_packages(family)
    return (_LIBELF.get(family or "", what),) if what == "libelf-dev" else (what,)


def _gcc(facts: Facts, name: str, major: str) -> str:
    """The package of a compiler of one major version; Fedora and Arch have one version at a time."""
    return {"debian": f"{name}-{major}", "suse": f"{name}{major}"}.get(system.family_of(facts) or "", name)


def _matching_compiler(facts: Facts, compiler: str) -> Fix:
    name, _, version = compiler.partition(" ")
    major = version.split(".")[0]
    chosen = system.family_of(facts) in ("debian", "suse") and name == "gcc"
    use, undo = _default_gcc(facts, major) if chosen else ((), ())
    return _build(
        facts,
        f"Install {name} {major}, which built the kernel, make it the default compiler, and rebuild the module.",
        (*system.install(facts, _gcc(facts, name, major)), *use),
        undo,
    )


def _default_gcc(facts: Facts, major: str) -> tuple[Tasks, Tasks]:
    """The commands that make an installed gcc the default, and those that make the distribution's it again.

    The alternative takes the place of the package's own link, which goes with it when it is removed.
    """
    use = as_root("update-alternatives", "--install", "/usr/bin/gcc", "gcc", f"/usr/bin/gcc-{major}", major)
    back = as_root("update-alternatives", "--remove", "gcc", f"/usr/bin/gcc-{major}")
    return (use,), (back, *system.reinstall(facts, "gcc"))


def _without_crash(facts: Facts) -> tuple[Fix, ...]:
    """Ways around a compiler that crashes: a module that the distribution compiled, another compiler, fewer passes."""
    family, there = system.family_of(facts), _built_for(facts)
    own = known_or(facts.host.kernel.compiler, None) or ""
    found: list[Fix] = [_other_kernel(facts)] if there else []
    if family == "arch" and module_flavor(facts) != "proprietary" and flavor_for(facts) == "open":
        message = (
            "Install the distribution's standard kernel with the module that it compiled (nvidia-open, in place of "
            "nvidia-open-dkms), select that kernel in the boot menu, and reboot: nothing is compiled here."
        )
        packaged = (as_root("pacman", "-Syu", "linux", "nvidia-open"), as_root("reboot"))
        verify = query("nvidia-smi")
        found.append(Fix(message, packaged, "reinstall-package", root=True, needs="reboot", verify=verify))
    version, name, major = tried(facts), own.partition(" ")[0], own.partition(" ")[2].partition(".")[0]
    if family in ("debian", "suse") and name == "gcc" and major.isdigit():
        older = str(int(major) - 1)
        use, undo = _default_gcc(facts, older)
        message = f"Build with the compiler before it, gcc {older}."
        found.append(_build(facts, message, (*system.install(facts, _gcc(facts, "gcc", older)), *use), undo))
    if version and not module.uses_akmods(facts):
        found.append(_with_fewer_passes(facts, f"/usr/src/nvidia-{version}/src/nvidia/Makefile"))
    newer = "Upgrade the compiler and the driver, once a release without the bug is out, then build again."
    commands: Tasks = (as_root("pacman", "-Syu"),) if family == "arch" else ()
    return (*found, _build(facts, newer, commands) if family else Fix(newer, (), "reinstall-package", root=True))


def _with_fewer_passes(facts: Facts, makefile: str) -> Fix:
    """GCC 16.1 crashes in its scheduling of instructions: https://github.com/NVIDIA/open-gpu-kernel-modules/pull/1235."""
    message = (
        "If the pass that crashed is sched2 (GCC 16.1 on the open modules): build without the scheduling of "
        "instructions, which only orders them."
    )
    flags = "1i CFLAGS += -fno-schedule-insns2 -fno-schedule-insns"
    edit = as_root("sed", "-i.orig", flags, makefile)
    return _build(facts, message, (edit,), (as_root("mv", f"{makefile}.orig", makefile),))


def _with_lld(facts: Facts) -> tuple[Fix, ...]:
    """Another kernel that has the module; else, or after that, the build without the LD= of the module's dkms.conf."""
    there = (_other_kernel(facts),) if known_or(facts.nvidia.kernel.other_kernels, ()) else ()
    tools = system.install(facts, *_LLVM)
    version = tried(facts)
    if version is None or module.uses_akmods(facts):
        return (*there, _build(facts, "Install clang and lld, with which the kernel was built, and rebuild.", tools))
    conf = f"/usr/src/nvidia-{version}/dkms.conf"
    remove = as_root("sed", "-i.orig", "-E", "s# LD=[^ ]+##", conf)
    message = f"Install clang and lld, remove LD= from {conf}, so that LLVM=1 selects ld.lld, and rebuild the module."
    return (*there, _build(facts, message, (*tools, remove), (as_root("mv", f"{conf}.orig", conf),)))


def _with_room(facts: Facts, kind: str) -> Fix:
    if kind == "memory":
        return _build(facts, "Stop programs that use much memory (the list shows it), then build again.", (_FREE,))
    message = "Free disk space (the list shows which file system is full), then build the module again."
    looked = query("df", "-h", "/var", "/tmp", "/lib/modules", "/boot")
    # A package whose configuration the full disk stopped: DKMS builds the module from there.
    return _build(facts, message, (looked, *system.finished(facts)))


_FREE = query("free", "-h")


def _newer_release(facts: Facts) -> tuple[tuple[Fix, ...], tuple[Fix, ...]]:
    """A later release of the same branch: one that is known to compile, or else any, where there is no newer branch."""
    release = tried(facts) or library_version(facts)
    have, series = branch(release), ".".join(kernel_of(facts).split(".")[:2])
    if release is None or have is None:
        return (), ()
    first = drivers.first_that_compiles(have, kernel_of(facts))
    if first and numbers(release) < numbers(first):
        message = f"Upgrade the driver to {first} or newer, which compiles against kernel {series}, then reboot."
        return (newest_release(facts, message),), ()
    if have < drivers.advised_branch() or _newer_branch(facts):
        return (), ()
    message = (
        f"Upgrade, once there is a release newer than {release} that compiles against kernel {series}; then reboot."
    )
    return (), (newest_release(facts, message),)


def _newer_branch(facts: Facts) -> tuple[Fix, ...]:
    """The next branch; for a Debian that has none of its own, that of NVIDIA's repository."""
    have = branch(tried(facts)) or branch(library_version(facts)) or 0
    newer = best_branch(facts, have + 1 if facts.host.distribution.id == "debian" else 0)
    if newer is None or newer <= have:
        return ()
    message = f"Install driver branch {newer}, which compiles against newer kernels, then reboot."
    return (install_driver(facts, newer, message=message),)


def _open_modules(facts: Facts) -> tuple[Fix, ...]:
    """The open modules, licensed as MIT and GPL, which may use every symbol, where each GPU here can use them."""
    have = branch(tried(facts)) or branch(library_version(facts))
    if module_flavor(facts) == "open" or flavor_for(facts, have) != "open":
        return ()
    message = "Install the open kernel modules, whose license (MIT/GPL) allows these symbols, then reboot."
    return (install_driver(facts, have, "open", message),)


def _proprietary_modules(facts: Facts) -> tuple[Fix, ...]:
    """Debian's proprietary modules of the same release, where each GPU here can use them.

    apt takes a name with a minus as one to remove, in the same step: https://manpages.debian.org/apt-get.8
    """
    there, ours = ("nvidia-open-kernel-dkms", "nvidia-kernel-dkms"), {g.open_module for g in generations_of(facts)}
    if facts.host.distribution.id != "debian" or there[0] not in module.driver_packages(facts) or "required" in ours:
        return ()
    message = (
        f"Install the proprietary kernel modules of the same release ({there[1]}) in place of the open ones, whose "
        "source differs, then reboot."
    )
    commands = system.install(facts, there[1], f"{there[0]}-")
    return (Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi")),)


def is_realtime(release: str) -> bool:
    """Whether a kernel is one with PREEMPT_RT, by the names that distributions give those."""
    return "realtime" in release or "-rt" in release or ".rt" in release


def _built_for(facts: Facts) -> list[str]:
    """The other kernels, without PREEMPT_RT, that have the module."""
    others, there = facts.nvidia.kernel.other_kernels, known_or(facts.host.kernel.others, None)
    found = [m.kernel for m in others if not is_realtime(m.kernel)] if isinstance(others, tuple) else []
    return [name for name in found if there is None or name in there]


def with_built_kernel(facts: Facts) -> Fix | None:
    """Boot another installed kernel that has the module; None: no other kernel has it."""
    there, running = _built_for(facts), kernel_of(facts)
    message = f"Boot kernel {there[-1]}, which has the module." if there else ""
    if is_of_another_release(facts):
        message += f" {running} is from another Debian release, and its headers need that release's libraries."
    return into_kernel(facts, there[-1], message, query("nvidia-smi")) if there else None


def is_of_another_release(facts: Facts) -> bool:
    """Whether the running kernel is from another Debian release, whose headers need that release's libraries.

    The newer kernels have in their name the release that they were built for, in backports too
    ("6.12.95+deb12-amd64"): https://packages.debian.org/search?keywords=linux-image-6.
    """
    found, own = re.search(r"\+deb(\d+)", kernel_of(facts)), known_or(facts.host.distribution.version, None)
    return found is not None and own is not None and found[1] != own.partition(".")[0]


def _other_kernel(facts: Facts, kind: str = "an older kernel that this branch supports") -> Fix:
    there, series = _built_for(facts), numbers(kernel_of(facts))[:2]
    if there:
        message = f"Boot kernel {there[-1]}, which has the module, and stay on it until a fixed driver is out."
        return into_kernel(facts, there[-1], message, query("nvidia-smi"))
    others = known_or(facts.host.kernel.others, ())
    older = [name for name in others if numbers(name)[:2] < series and not is_realtime(name)]
    if older:
        message = (
            f"Boot kernel {older[-1]}, which is installed and older, and build the module there: `gpudoctor check` "
            f"says how. Then remove the packages of kernel {kernel_of(facts)}, for which the build would go on to fail."
        )
        return into_kernel(facts, older[-1], message, query("nvidia-smi"))
    return Fix(f"Boot {kind}, and stay on it until a fixed driver is out.", (), "reboot", needs="reboot")


def for_realtime(facts: Facts) -> tuple[Fix, ...]:
    """A kernel without PREEMPT_RT; or the build in spite of it, which NVIDIA does not support."""
    there, proof = _built_for(facts), query("nvidia-smi")
    name = f"kernel {there[-1]}, which has the module" if there else "this distribution's standard kernel"
    message = f"Boot {name}: a standard (generic) kernel without PREEMPT_RT. No driver version supports PREEMPT_RT."
    install = _standard_kernel(facts)
    action: Action = "reinstall-package" if install else "reboot"
    standard = Fix(message, install, action, root=True, needs="reboot", verify=proof)
    if there:
        standard = into_kernel(facts, there[-1], message, proof)
    version = tried(facts)
    if version is None or module.uses_akmods(facts):
        return (standard,)
    override = (("IGNORE_PREEMPT_RT_PRESENCE", "1"),)
    build = cmd("dkms", "install", f"nvidia/{version}", "-k", kernel_of(facts), root=True, env=override)
    anyway = Fix(
        "If the real-time kernel has to stay: build the module in spite of the refusal, which NVIDIA does not support, "
        "and again after each upgrade of the kernel or the driver.",
        (build, as_root("modprobe", "nvidia")),
        "reinstall-package",
        root=True,
        verify=query("nvidia-smi"),
    )
    return (standard, anyway)


def _standard_kernel(facts: Facts) -> Tasks:
    """The distribution's standard kernel with its headers, where the names are known."""
    names = {"ubuntu": ("linux-generic",), "debian": ("linux-image-amd64", "linux-headers-amd64")}
    found = names.get(known_or(facts.host.distribution.id, ""), ())
    arch = {"arch": ("linux", "linux-headers"), "suse": ("kernel-default", "kernel-default-devel")}
    found = found or arch.get(system.family_of(facts) or "", ())
    return system.install(facts, *found) if found else ()
