"""DKMS failed to build NVIDIA's module: the compiler or the kernel's headers do not fit."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.fixes.driver import best_branch, install_driver
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import branch, library_version, own_kernel
from gpudoctor.targets import cards_of
from gpudoctor.tasks import as_root, query

_OPTION = re.compile(r"unrecognized command.line option|unknown argument|invalid option|-ftrivial-auto-var-init")
_NEEDED = re.compile(r"^\s*(\S+) .*?is needed by", re.MULTILINE)
_HEADERS = re.compile(r"kernel headers|linux/\S+\.h: No such file|No such file or directory.*\.h\b", re.IGNORECASE)


def _compiler_differs(facts: Facts) -> str | None:
    """The compiler that built the kernel ("gcc 12.3.0"), where DKMS's compiler lacks an option of it."""
    lines = "\n".join(facts.nvidia.kernel.dkms_errors)
    built_by = known_or(facts.host.kernel.compiler, None)
    return built_by if built_by and _OPTION.search(lines) else None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    compiler, needed = _compiler_differs(facts), _needed(facts)
    if needed:
        return (_install_needed(facts, needed),)
    if compiler:
        return (_matching_compiler(facts, compiler),)
    newer = best_branch(facts)
    have = branch(_tried(facts)) or branch(library_version(facts)) or 0
    fixes = [] if newer is None or newer <= have else [install_driver(facts, newer, message=_newer(newer))]
    others = facts.nvidia.kernel.other_kernels
    name = f"kernel {others[-1].kernel}, which has the module" if isinstance(others, tuple) and others else ""
    older = f"Boot {name or 'an older kernel that this branch supports'}, and stay on it until a fixed driver is out."
    return (*fixes, Fix(older, (), "reboot", needs="reboot"))


def _needed(facts: Facts) -> tuple[str, ...]:
    """The packages that rpmbuild asked for: "gcc-c++ is needed by nvidia-kmod-3:590.48.01-1.fc43.x86_64"."""
    return tuple(dict.fromkeys(_NEEDED.findall("\n".join(facts.nvidia.kernel.dkms_errors))))


def _install_needed(facts: Facts, names: tuple[str, ...]) -> Fix:
    commands = (*system.install(facts, *names), *module.build_commands(facts), as_root("modprobe", "nvidia"))
    message = f"Install {' and '.join(names)}, which the build needs, then rebuild the module."
    return Fix(message, tuple(dict.fromkeys(commands)), "reinstall-package", root=True, verify=query("nvidia-smi"))


def _newer(branch: int) -> str:
    return f"Install driver branch {branch}, which compiles against newer kernels, then reboot."


def _matching_compiler(facts: Facts, compiler: str) -> Fix:
    name, _, version = compiler.partition(" ")
    major = version.split(".")[0]
    family = system.family_of(facts)
    package = f"{name}-{major}" if family == "debian" else f"{name}{major}" if family == "suse" else name
    use = (as_root("update-alternatives", "--install", "/usr/bin/gcc", "gcc", f"/usr/bin/gcc-{major}", major),)
    install = system.install(facts, package)
    return Fix(
        f"Install {name} {major}, which built the kernel, make it the default compiler, and rebuild the module.",
        (
            *install,
            *(use if family in ("debian", "suse") and name == "gcc" else ()),
            *module.build_commands(facts),
            as_root("modprobe", "nvidia"),
        ),
        "reinstall-package",
        root=True,
        undo=(as_root("update-alternatives", "--remove", "gcc", f"/usr/bin/gcc-{major}"),),
        verify=query("nvidia-smi"),
    )


@check(
    title="NVIDIA's kernel module failed to build (DKMS, akmods)",
    severity=Severity.ERROR,
    cause="DKMS or akmods recompiles the module for every kernel. The build fails where a tool is missing, where the "
    "compiler is older than the one that built the kernel (it lacks an option), or where the driver branch is older "
    "than the kernel.",
    fixes=_fixes,
    references=("https://github.com/dell/dkms", "https://github.com/pop-os/pop/issues/3117"),
    targets=own_kernel,
    caused_by=(*DEAD, "driver.headers-missing"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def dkms_build_failed(facts: Facts) -> Problem | None:
    """The lines of make.log that name the error, where the module is missing or older than the libraries."""
    kernel = facts.nvidia.kernel
    if not kernel.dkms_errors or not cards_of(facts, "nvidia"):
        return None
    loaded, user = known(kernel.loaded), library_version(facts)
    if loaded is not None and user in (loaded, None):
        return None  # the build of an unused version
    release, compiler = system.kernel_of(facts), _compiler_differs(facts)
    tried = phrase(" {}", _tried(facts))
    why = f" The kernel was built with {compiler}; DKMS used an older or different compiler." if compiler else ""
    needed, by = _needed(facts), "akmods" if kernel.akmods_log else "DKMS"
    why = f" The build needs {' and '.join(needed)}, which is not installed." if needed else why
    message = f"{by} could not build NVIDIA's module{tried} for kernel {release}.{why}"
    if kernel.akmods_log:
        return Problem(message, (kernel.akmods_log, *kernel.dkms_errors))
    cause = None if compiler or _HEADERS.search("\n".join(kernel.dkms_errors)) else _older_branch(facts, release)
    return Problem(message, kernel.dkms_errors, cause)


def _tried(facts: Facts) -> str | None:
    """The version whose build failed: the entry that is not installed for the running kernel."""
    entries = facts.nvidia.kernel.dkms if isinstance(facts.nvidia.kernel.dkms, tuple) else ()
    release = system.kernel_of(facts)
    installed = {e.version for e in entries if e.kernel == release and e.state.startswith("installed")}
    return next((e.version for e in reversed(entries) if e.version not in installed), None)


def _older_branch(facts: Facts, release: str) -> str:
    version = _tried(facts) or "this driver"
    return (
        f"The source of {version} does not compile against kernel {release}: the driver branch is older than the "
        "kernel."
    )
