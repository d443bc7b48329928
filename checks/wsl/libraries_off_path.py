"""The Windows driver's libraries lie where the loader does not look."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known
from gpudoctor.queries.driver import OFF_PATH
from gpudoctor.targets import in_container, wsl_machine
from gpudoctor.tasks import Edit, Tasks, as_root, filtered, query

_FILE = "/etc/ld.so.conf.d/ld.wsl.conf"


def _off(facts: Facts) -> tuple[DriverLibrary, ...]:
    """The Windows driver's copies of libcuda; none where the loader finds any libcuda."""
    copies = known(facts.nvidia.cuda.libraries)
    if any(one.found_by != OFF_PATH and one.kind != "stub" for one in copies):
        return ()
    return tuple(one for one in copies if one.kind == "wsl")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if facts.host.distribution.id == "nixos":
        message = "Let NixOS-WSL hand the Windows driver's libraries to programs: set wsl.useWindowsDriver = true."
        commands: Tasks = (
            as_root("nano", "/etc/nixos/configuration.nix", person=True),
            as_root("nixos-rebuild", "switch"),
        )
        return (Fix(message, commands, "change-environment", root=True, verify=query(f"{wsl.LIB}/nvidia-smi")),)
    tell = Fix(
        "Tell the loader of the folder; where /etc/wsl.conf says ldconfig=false in [automount], take that out too.",
        (Edit(_FILE, text=f"{wsl.LIB}\n", root=True), as_root("ldconfig")),
        "change-environment",
        root=True,
        undo=(
            Edit(_FILE, gone=True, root=True),
            as_root("ldconfig"),
        ),
        verify=filtered(query("ldconfig", "-p"), query("grep", "libcuda")),
    )
    return (tell,)


@check(
    title="The loader does not look into /usr/lib/wsl/lib",
    severity=Severity.ERROR,
    cause="When WSL starts a distribution it names /usr/lib/wsl/lib, where the Windows driver's libcuda.so.1 lies, in "
    "/etc/ld.so.conf.d/ld.wsl.conf and runs ldconfig. Where that file is gone, or ldconfig is switched off in "
    "/etc/wsl.conf, or the distribution has no such loader (NixOS), programs do not find the library.",
    fixes=_fixes,
    references=(
        "https://github.com/microsoft/WSL/blob/master/src/linux/init/config.cpp",
        "https://nix-community.github.io/NixOS-WSL/options.html",
        wsl.CUDA_ON_WSL,
    ),
    targets=wsl_machine,
    caused_by=("wsl.version-1", "wsl.no-dxg", "wsl.gpu-disabled"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def libraries_off_path(facts: Facts) -> Problem | None:
    """A copy lies in WSL's folder, and none in the loader's reach."""
    if in_container(facts):
        return None
    off = _off(facts)
    if not off or known(facts.nvidia.cuda.code) == 0:
        return None
    off_by_setting = facts.windows.ldconfig is False
    why = " /etc/wsl.conf switches ldconfig off." if off_by_setting else ""
    return Problem(f"{off[0].path} is there, but it is not on the loader's path.{why}", tuple(one.path for one in off))
