"""The limit of GTT memory was set for a TTM that amdgpu does not use, or did not reach the module."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system, ttm
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import size
from gpudoctor.targets import amd_compute, cards_of, in_container
from gpudoctor.tasks import as_root, query

_MUCH = 0.99  # of what was asked: TTM rounds it


def _asked(facts: Facts) -> tuple[str, int] | None:
    """The module and the bytes that were asked for: of the module in use, or of the other one where that has none."""
    found = dict(known(facts.amd.ttm_asked))
    own = ttm.module_of(facts)
    name = own if own in found else next(iter(found), None)
    return (name, found[name]) if name else None


def _by_file(facts: Facts, name: str) -> bool:
    words = known_or(facts.host.kernel.command_line, "").split()
    return not any(word.startswith(f"{name}.pages_limit=") for word in words)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name, asked = _asked(facts) or ("", 0)
    own, by_file = ttm.module_of(facts), _by_file(facts, name)
    if name != own:
        where = "the file in /etc/modprobe.d" if by_file else "the kernel command line"
        message = f"Give the limit to {own}, and remove the options of {name} from {where}."
        return (ttm.raise_limit(facts, message, asked, by_file),)
    if by_file and not in_container(facts) and ttm.without_file(facts):
        message = f"Give {own} the limit where the initial RAM disk takes it too."
        return (ttm.raise_limit(facts, message, asked, by_file),)
    inside = in_container(facts)
    message = (
        f"{'On the host: rebuild' if inside else 'Rebuild'} the initial RAM disk, which has a copy of modprobe.d, and "
        f"reboot: {own} takes its options when it is loaded.{system.initramfs_hint(facts)}"
    )
    return (
        Fix(
            message,
            () if inside else (*system.initramfs(facts), as_root("reboot")),
            "reboot",
            root=True,
            needs="reboot",
            verify=query("cat", ttm.parameter_path(facts)),
            place="outside" if inside else "here",
        ),
    )


@check(
    title="Limit of GTT memory (ttm.pages_limit) is not in effect",
    severity=Severity.WARNING,
    cause="An integrated GPU computes in system RAM (GTT), of which TTM lets it have half by default. The limit is an "
    "option of the module that amdgpu uses: ttm of the kernel, amdttm of AMD's driver package (amdgpu-dkms). The "
    "kernel ignores options of a module that is never loaded, without a message.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/5562",
        "https://github.com/ROCm/legacy-rocm-build/issues/5595",
        "https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/ttm/ttm_tt.c",
    ),
    targets=amd_compute,
    only_with=("amd.ttm_asked",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def ttm_limit_not_in_effect(facts: Facts) -> Problem | None:
    """Less is in effect than was asked for, where all of AMD's GPUs are integrated: cards have memory of their own."""
    found = _asked(facts)
    if found is None or not all(known(card.integrated) for card in cards_of(facts, "amd")):
        return None
    (name, asked), limit = found, known(facts.amd.ttm_limit)
    if limit is None or limit >= asked * _MUCH:
        return None
    own = ttm.module_of(facts)
    source = "a file in modprobe.d" if _by_file(facts, name) else "the kernel command line"
    reason = f"amdgpu uses {own} here, not {name}" if name != own else f"{own} was loaded without it, or changed since"
    message = (
        f"{name}.pages_limit={asked // ttm.PAGE} ({source}) asks for {size(asked)} of GTT, but {size(limit)} is in "
        f"effect: {reason}."
    )
    return Problem(message, (f"{ttm.parameter_path(facts)}: {limit // ttm.PAGE}",))
