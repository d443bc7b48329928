"""The Windows driver's libraries are not on the loader's search path."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.fixes import nixos, wsl
from gpudoctor.maybe import known
from gpudoctor.queries.driver import OFF_PATH
from gpudoctor.targets import in_container, wsl_machine
from gpudoctor.tasks import Edit, as_root, filtered, query

_FILE = "/etc/ld.so.conf.d/ld.wsl.conf"


def _off(facts: Facts) -> tuple[DriverLibrary, ...]:
    """The Windows driver's copies of libcuda; none where the loader finds any libcuda."""
    copies = known(facts.nvidia.cuda.libraries)
    if any(one.found_by != OFF_PATH and one.kind != "stub" for one in copies):
        return ()
    return tuple(one for one in copies if one.kind == "wsl")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if nixos.is_nixos(facts):
        message = (
            "Set wsl.useWindowsDriver = true, so that NixOS-WSL makes the Windows driver's libraries available to "
            "programs."
        )
        proof = query(f"{wsl.LIB}/nvidia-smi")
        return (nixos.rebuild(message, "wsl.useWindowsDriver = true;", "change-environment", proof),)
    register = Fix(
        "Add the directory to the loader's configuration; if /etc/wsl.conf has ldconfig=false in [automount], remove "
        "that too.",
        (Edit(_FILE, text=f"{wsl.LIB}\n", root=True), as_root("ldconfig")),
        "change-environment",
        root=True,
        undo=(
            Edit(_FILE, gone=True, root=True),
            as_root("ldconfig"),
        ),
        verify=filtered(query("ldconfig", "-p"), query("grep", "libcuda")),
    )
    return (register,)


@check(
    title="/usr/lib/wsl/lib is not on the loader's search path",
    severity=Severity.ERROR,
    cause="When WSL starts a distribution it adds /usr/lib/wsl/lib, the directory of the Windows driver's "
    "libcuda.so.1, to /etc/ld.so.conf.d/ld.wsl.conf and runs ldconfig. If that file is missing, ldconfig is disabled "
    "in /etc/wsl.conf, or the distribution does not use ld.so.conf (NixOS), programs do not find the library.",
    fixes=_fixes,
    references=(
        "https://github.com/microsoft/WSL/blob/master/src/linux/init/config.cpp",
        "https://nix-community.github.io/NixOS-WSL/options.html",
        wsl.CUDA_ON_WSL,
    ),
    targets=wsl_machine,
    caused_by=("wsl.version-1", "wsl.no-dxg", "wsl.gpu-disabled"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def libraries_off_path(facts: Facts) -> Problem | None:
    """A copy is in WSL's directory, and none where the loader looks."""
    if in_container(facts):
        return None
    off = _off(facts)
    if not off or known(facts.nvidia.cuda.code) == 0:
        return None
    off_by_setting = facts.wsl.ldconfig is False
    why = " /etc/wsl.conf disables ldconfig." if off_by_setting else ""
    return Problem(
        f"{off[0].path} exists, but it is not on the loader's search path.{why}", tuple(one.path for one in off)
    )
