"""Fixes for WSL and Hyper-V guests with a GPU: nearly all of them happen on Windows."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Edit, Manual, as_root, cmd, query

CUDA_ON_WSL = "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"
MICROSOFT = "https://learn.microsoft.com/windows/wsl/tutorials/gpu-compute"
# With its suffix it runs in PowerShell and inside WSL alike (https://learn.microsoft.com/windows/wsl/filesystems).
SHUTDOWN = cmd("wsl.exe", "--shutdown", person=True)
LIB = "/usr/lib/wsl/lib"
# https://learn.microsoft.com/windows/wsl/wsl-config#main-wsl-settings: half of Windows' memory, unless it is set.
MORE_MEMORY = Fix(
    "If Windows has more memory, give WSL a larger share: set memory= in the section [wsl2] of "
    "%UserProfile%\\.wslconfig on Windows (swap= helps too), then restart WSL.",
    (cmd("notepad.exe", "%UserProfile%\\.wslconfig"), SHUTDOWN),
    "change-environment",
    needs="restart of WSL",
    verify=query("free", "-h"),
)


def is_guest(facts: Facts) -> bool:
    """Whether this is an ordinary Hyper-V guest with a share of the GPU (GPU-PV) and not WSL itself."""
    return facts.host.wsl is None


def has_own_kernel(facts: Facts) -> bool:
    """Whether WSL runs a kernel that is not Microsoft's: [wsl2] kernel= in .wslconfig."""
    return "microsoft-standard" not in known_or(facts.host.kernel.release, "microsoft-standard").lower()


def update_wsl(message: str) -> Fix:
    """Bring WSL and its kernel up to date, in Windows."""
    return Fix(
        f"{message} (in PowerShell on Windows)",
        (cmd("wsl.exe", "--update", person=True), SHUTDOWN),
        "reinstall-package",
        needs="restart of WSL",
        verify=query("ls", "-l", "/dev/dxg"),
    )


def windows_driver(message: str) -> Fix:
    """Install NVIDIA's current driver on Windows; none is installed in WSL."""
    return Fix(
        f"{message} WSL uses the Windows driver: never install a Linux driver inside WSL.",
        (SHUTDOWN,),
        "reinstall-package",
        needs="restart of Windows",
        verify=query("/usr/lib/wsl/lib/nvidia-smi"),
    )


def driver_model(message: str) -> Fix:
    """Give the card to Windows' display driver model, in Windows."""
    return Fix(
        f"{message} (0 is WDDM; cards without it, such as some Tesla boards, need NVIDIA's vGPU/GRID driver or MCDM.)",
        (query("nvidia-smi"), cmd("nvidia-smi", "-g", "0", "-dm", "0")),
        "change-environment",
        root=True,
        needs="restart of Windows",
        undo=(cmd("nvidia-smi", "-g", "0", "-dm", "1"),),
        verify=query("/usr/lib/wsl/lib/nvidia-smi"),
    )


def own_kernel() -> Fix:
    """Go back to Microsoft's kernel, or build one with the /dev/dxg driver."""
    return Fix(
        "Remove the line kernel= (and gpuSupport=false) from %UserProfile%\\.wslconfig on Windows, or build your own "
        "kernel from Microsoft's WSL2-Linux-Kernel sources with CONFIG_DXGKRNL=y; then restart WSL.",
        (SHUTDOWN,),
        "change-environment",
        needs="restart of WSL",
        verify=query("ls", "-l", "/dev/dxg"),
    )


def host_files(facts: Facts) -> tuple[Fix, ...]:
    """Bring the Windows host's driver files into the guest, or into WSL."""
    if not is_guest(facts):
        return (windows_driver("Install or repair NVIDIA's driver on Windows, then restart WSL."),)
    message = (
        "Copy the host's driver into the guest: every directory nv_dispi.inf_amd64_* in "
        "C:\\Windows\\System32\\DriverStore\\FileRepository to /usr/lib/wsl/drivers, and the files in "
        "C:\\Windows\\System32\\lxss\\lib to /usr/lib/wsl/lib. Repeat this after each driver update on the host."
    )
    store, lxss = "C:\\Windows\\System32\\DriverStore\\FileRepository", "C:\\Windows\\System32\\lxss\\lib"
    on_windows = (
        "# On the Windows host, in PowerShell (USER and GUEST: this guest's user and host name):",
        f'scp -r (Get-Item "{store}\\nv_dispi.inf_amd64_*").FullName USER@GUEST:/tmp/wsl-drivers/',
        f'scp -r (Get-Item "{lxss}\\*").FullName USER@GUEST:/tmp/wsl-lib/',
        "# Then in this guest:",
    )
    commands = (
        cmd("mkdir", "-p", "/tmp/wsl-drivers", "/tmp/wsl-lib"),
        Manual("\n".join(on_windows), "PowerShell"),
        as_root("mkdir", "-p", "/usr/lib/wsl/drivers", LIB),
        as_root("cp", "-r", "/tmp/wsl-drivers/.", "/usr/lib/wsl/drivers/"),
        as_root("cp", "-r", "/tmp/wsl-lib/.", f"{LIB}/"),
        as_root("chmod", "-R", "555", "/usr/lib/wsl"),
        Edit("/etc/ld.so.conf.d/wsl.conf", text=f"{LIB}\n", root=True),
        as_root("ldconfig"),
    )
    return (
        Fix(
            message,
            commands,
            "reinstall-package",
            root=True,
            needs="reboot of the guest",
            verify=query(f"{LIB}/nvidia-smi"),
        ),
    )
