"""Whether this is the Windows Subsystem for Linux, and which of the two."""

from gpudoctor.machine import Machine

# WSL 1 translates system calls and claims to be this kernel; WSL 2 boots a real one, 4.19 or newer.
WSL1_KERNEL = "4.4."


def version(machine: Machine) -> int | None:
    """Return 1 or 2, or None where this is not WSL; a container on WSL 2 is on WSL 2.

    Microsoft's kernels name themselves: 4.4.0-19041-Microsoft (WSL 1), 5.15.167.4-microsoft-standard-WSL2
    and the older 4.19.84-microsoft-standard (https://github.com/microsoft/WSL2-Linux-Kernel). A kernel of the
    user's own has any name, so traces of Windows stand for it.
    """
    release = machine.line("/proc/sys/kernel/osrelease") or machine.release()
    build = machine.line("/proc/version") or ""
    named = "microsoft" in release.lower() or "microsoft-standard" in build.lower()
    if named:
        old = release.startswith(WSL1_KERNEL) and "WSL2" not in release and "standard" not in release
        return 1 if old else 2
    return 2 if _started_by_windows(machine) and _has_its_files(machine) else None


def _started_by_windows(machine: Machine) -> bool:
    """What WSL's init sets up; a leftover variable is told by what else is missing."""
    interop = ("/proc/sys/fs/binfmt_misc/WSLInterop", "/proc/sys/fs/binfmt_misc/WSLInterop-late", "/run/WSL")
    env = machine.env
    return "WSL_DISTRO_NAME" in env or "WSL_INTEROP" in env or any(machine.exists(path) for path in interop)


def _has_its_files(machine: Machine) -> bool:
    """Not enough alone: guests of Hyper-V with a share of the GPU (GPU-PV) have both too, and are no WSL."""
    return machine.exists("/usr/lib/wsl") or machine.exists("/dev/dxg") or machine.exists("/run/WSL")
