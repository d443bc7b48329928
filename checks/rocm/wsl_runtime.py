"""A ROCm framework does not reach the GPU through WSL."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes import nixos, rocm_wsl
from gpudoctor.fixes.variables import places
from gpudoctor.fixes.verify_commands import hip_proof
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.rocm import before_wsl, rocm
from gpudoctor.maybe import known, known_or, phrase, present
from gpudoctor.queries.packages import packages_of
from gpudoctor.queries.rocr import asks_for_kfd, lists_none
from gpudoctor.queries.visibility import ROCR, amd_masks
from gpudoctor.targets import OnLive, asked_for_nvidia, lives, on_wsl
from gpudoctor.tasks import Edit, Shell, as_root, cmd, export, filtered, query, unset

_DETECT = "HSA_ENABLE_DXG_DETECTION"
_CONF = "/etc/ld.so.conf.d/librocdxg.conf"
_GUIDE = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-pytorch.html"


def _wheels(facts: Facts) -> Iterator[tuple[About, OnLive]]:
    """ROCm frameworks in WSL 2 that were imported; if NVIDIA's libraries are there, the GPU is not AMD's."""
    if on_wsl(facts) and not asked_for_nvidia(facts):
        yield from ((about, on) for about, on in lives(facts) if isinstance(on.framework.hip, str))


def _supporting(facts: Facts) -> str | None:
    """The first release that supports WSL, where the installed one is older."""
    release = known_or(facts.amd.rocm, None)
    return before_wsl(release) if release else None


def _why(on: OnLive) -> str:
    facts = on.facts
    if _supporting(facts):
        return "old"
    release, with_library = known_or(facts.amd.rocm, None), rocm().wsl.rocdxg[0]
    blind = "mask" if _mask(facts) else _itself(facts) or "runtime"
    if release and version(release) < version(with_library):
        return blind  # before, AMD's packages for WSL shipped an HSA runtime of their own
    if known_or(facts.amd.rocdxg, None) is not True:
        return "library"
    if known_or(facts.amd.rocdxg_off_path, None):
        return "path"
    return "variable" if _asleep(on) else blind


def _asleep(on: OnLive) -> bool:
    """Whether the HSA runtime does not look at /dev/dxg: older ones are asked to, newer ones may be told not to."""
    value = on.facts.host.environment.get(_DETECT)
    return value == "0" if _looks_by_itself(on) else value != "1"


def _looks_by_itself(on: OnLive) -> bool:
    release = known_or(on.framework.hip, None)
    return release is not None and version(release) >= version(rocm().wsl.rocdxg[1])


def _of_wheels(on: OnLive) -> bool:
    """Whether the HSA runtime is that of AMD's wheels of ROCm."""
    return any(package.name == "rocm-sdk-core" for package in packages_of(on.python))


def _mask(facts: Facts) -> str | None:
    """The variable that hides a machine's only GPU; how many there are, KFD would show, which WSL does not have."""
    alone = msgspec.structs.replace(facts, gpus=(Gpu(vendor="amd", index=0),))
    masks = amd_masks(alone)
    if masks is None or masks.visible:
        return None
    return masks.variable if masks.first.visible else ROCR


def _itself(facts: Facts) -> str | None:
    """Why the installed ROCm's own runtime finds no GPU, by rocminfo: then no wheel's runtime is in its way."""
    for one in known_or(facts.amd.rocminfo, ()):
        if asks_for_kfd(one):
            return "native"
        if one.status or lists_none(one):
            return "release"
    return None


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    if _why(on) == "path":
        return _paths(on)
    variable = Fix(
        "Make ROCm detect the GPU through /dev/dxg.",
        (export(_DETECT, "1"),),
        "change-environment",
        needs="restart of the program",
        undo=(unset(_DETECT),),
        verify=filtered(query("rocminfo"), query("grep", "-E", "Name: +gfx")),
    )
    library = Fix(
        "Install ROCm and librocdxg here following AMD's guide for WSL (https://github.com/ROCm/librocdxg), and on "
        "Windows the Adrenalin driver that it names; only the cards that it lists work.",
        (as_root("ldconfig"),),
        "reinstall-package",
        root=True,
        impact="persistent",
        verify=Shell("ls /opt/rocm/lib/librocdxg.so*", lookup=True),
    )
    directory = known_or(on.framework.location, None) or "site-packages/torch"
    runtime = Fix(
        "Make the framework use the system's HSA runtime, which supports WSL, instead of the one in its wheel.",
        (
            cmd("mv", f"{directory}/lib/libhsa-runtime64.so", f"{directory}/lib/libhsa-runtime64.so.off"),
            query("rocminfo"),
        ),
        "reinstall-package",
        undo=(cmd("mv", f"{directory}/lib/libhsa-runtime64.so.off", f"{directory}/lib/libhsa-runtime64.so"),),
    )
    found: dict[str, tuple[Fix, ...]] = {
        "library": (library, variable),
        "variable": (variable, library),
        # Wheels of ROCm itself (rocm-sdk-core) have the runtime, and PyTorch's own of that release none.
        "runtime": (library,) if _looks_by_itself(on) or _of_wheels(on) else (runtime, library),
    }
    if name := _mask(on.facts):
        found |= {"mask": (_unset(on.facts, name),)}
    return found.get(_why(on)) or rocm_wsl.supporting_release(on.facts)


def _paths(on: OnLive) -> tuple[Fix, ...]:
    """Make the loader look where librocdxg.so is: for every program, or for those of this shell."""
    folder = present(on.facts.amd.rocdxg_off_path)
    asks, back = ((export(_DETECT, "1"),), (unset(_DETECT),)) if _asleep(on) else ((), ())
    search = Fix(
        f"Make the loader look in {folder} for the programs of this shell.",
        (export("LD_LIBRARY_PATH", folder, "before"), *asks),
        "change-environment",
        needs="restart of the program",
        verify=hip_proof(on.facts),
    )
    if nixos.is_nixos(on.facts):
        return (search,)
    register = Fix(
        f"Add {folder} to the directories in which the loader looks.",
        (Edit(_CONF, text=f"{folder}\n", root=True), as_root("ldconfig"), *asks),
        "change-environment",
        root=True,
        needs="restart of the program",
        undo=(Edit(_CONF, gone=True, root=True), as_root("ldconfig"), *back),
        verify=filtered(query("ldconfig", "-p"), query("grep", "librocdxg")),
    )
    return register, search


def _unset(facts: Facts, name: str) -> Fix:
    return Fix(
        f"Unset {name}, and remove it from where it is set: {places(facts)}.",
        (unset(name),),
        "change-environment",
        needs="restart of the program",
        undo=(export(name, facts.host.environment[name]),),
        verify=hip_proof(facts),
    )


@check(
    title="ROCm framework sees no GPU in WSL",
    severity=Severity.ERROR,
    cause="WSL has no /dev/kfd: ROCm reaches the Windows GPU through /dev/dxg, with the library librocdxg and a "
    "Windows driver that supports it. The HSA runtime opens the library by name, before ROCm 7.13 only if a variable "
    "asks for it; wheels have a runtime of their own. No release supports other cards than those that AMD lists for "
    "WSL.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/librocdxg",
        "https://github.com/ROCm/librocdxg/issues/46",
        "https://github.com/ROCm/hip/issues/3710",
        _GUIDE,
        rocm_wsl.CARDS,
    ),
    targets=_wheels,
    only_with=("host.wsl=2",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def wsl_runtime(on: OnLive) -> Problem | None:
    """It was imported and reports no GPU."""
    if known(on.live.available) is not False or known(on.facts.amd.dxg) is not True:
        return None
    own, mask = f"ROCm {known_or(on.facts.amd.rocm, None) or ''}".strip(), _mask(on.facts) or ""
    reason = {
        "old": f"ROCm {known_or(on.facts.amd.rocm, None) or ''} does not support WSL; {_supporting(on.facts) or ''} is "
        "the first that does",
        "library": "librocdxg.so is not installed",
        "path": phrase("librocdxg.so is in {}, where the loader does not look", on.facts.amd.rocdxg_off_path),
        "variable": f"{_DETECT} is not set to 1",
        "runtime": "the HSA runtime that it loads does not find it",
        "release": f"{own} itself lists none (rocminfo), so this release for WSL or the Windows driver does not "
        "support the card",
        "native": f"{own} is the one for native Linux: rocminfo asks for /dev/kfd",
        "mask": f"{mask}={on.facts.host.environment.get(mask, '')} may hide it",
    }[_why(on)]
    error = known_or(on.live.error, None)
    lines = [line for one in known_or(on.facts.amd.rocminfo, ()) for line in one.lines]
    return Problem(f"{on.name} sees no GPU through /dev/dxg: {reason}.", tuple(filter(None, (error, *lines))))
