"""Whether this is the Windows Subsystem for Linux, and which of the two."""

from gpudoctor.machine import Machine

# WSL 1 translates system calls and claims to be this kernel; WSL 2 boots a real one, 4.19 or newer.
WSL1_KERNEL = "4.4."


def version(machine: Machine) -> int | None:
    """Return 1 or 2, or None where this is not WSL; a container on WSL 2 is on WSL 2.

    Microsoft's kernels name themselves: 4.4.0-19041-Microsoft (WSL 1), 5.15.167.4-microsoft-standard-WSL2
    and the older 4.19.84-microsoft-standard (https://github.com/microsoft/WSL2-Linux-Kernel). A kernel of the
    user's own has any name, so two traces of Windows stand for it.
    """
    release = machine.line("/proc/sys/kernel/osrelease") or machine.release()
    build = machine.line("/proc/version") or ""
    named = "microsoft" in release.lower() or "microsoft-standard" in build.lower()
    if named:
        old = release.startswith(WSL1_KERNEL) and "WSL2" not in release and "standard" not in release
        return 1 if old else 2
    return 2 if _traces(machine) >= 2 else None


def _traces(machine: Machine) -> int:
    env = machine.env
    interop = ("/proc/sys/fs/binfmt_misc/WSLInterop", "/proc/sys/fs/binfmt_misc/WSLInterop-late")
    return sum(
        (
            "WSL_DISTRO_NAME" in env or "WSL_INTEROP" in env,
            any(machine.exists(path) for path in interop),
            machine.exists("/usr/lib/wsl"),
            machine.exists("/run/WSL"),
            machine.exists("/dev/dxg"),
        )
    )
