"""Secure Boot rejects NVIDIA's module because it is not signed with a key that the firmware trusts."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, prebuilt, system
from gpudoctor.maybe import Unknown, known, known_or
from gpudoctor.queries.cards import owned_by
from gpudoctor.queries.cause_groups import BUILD, DEAD, OTHER_DRIVERS
from gpudoctor.queries.driver import STRICT, first_module, not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, in_container
from gpudoctor.tasks import Tasks, as_root, query, sentence
from gpudoctor.tasks.placeholders import CERTIFICATE, KEY

_MOK = "Enroll the key (MOK) that signed the module: set a password, reboot, and choose Enroll MOK in the blue menu."


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        return _for_the_node()
    if facts.nvidia.kernel.image_keys is not None:
        return (_enrol_image_key(facts, facts.nvidia.kernel.image_keys), _switch_off())
    return (*_signed(facts), _enrol(facts), _switch_off())


def _for_the_node() -> tuple[Fix, ...]:
    return (
        Fix(
            "On the node: use a signed driver: the distribution's signed NVIDIA modules on the host, or a "
            "precompiled, signed driver container (GPU operator: driver.usePrecompiled=true).",
            (),
            "reinstall-package",
            root=True,
            verify=query("nvidia-smi"),
        ),
        Fix(
            "Sign the module with your own key, enrolled on the node as a Machine Owner Key (MOK), or disable "
            "Secure Boot in the node's firmware.",
            (),
            "reboot",
            root=True,
            needs="reboot",
            impact="persistent",
        ),
    )


def _signed(facts: Facts) -> tuple[Fix, ...]:
    """Ubuntu's own modules are signed with a key that every firmware trusts through its shim."""
    version = first_module(facts)
    number = known_or(version.version, None) if version else None
    ready = prebuilt.install(facts, number)
    return (ready,) if ready else ()


def _enrol(facts: Facts) -> Fix:
    family = system.family_of(facts)
    if module.uses_akmods(facts):
        commands: Tasks = (
            as_root("kmodgenca", "-a"),
            as_root("mokutil", "--import", "/etc/pki/akmods/certs/public_key.der"),
            as_root("akmods", "--force", "--rebuild", "--kernels", system.kernel_of(facts)),
        )
    elif facts.host.distribution.id == "ubuntu":
        commands = (
            as_root("update-secureboot-policy", "--new-key"),
            as_root("update-secureboot-policy", "--enroll-key"),
        )
    elif family in ("debian", "fedora", "suse", "arch"):
        commands = (as_root("mokutil", "--import", "/var/lib/dkms/mok.pub"),)
    else:
        commands = ()
    build = () if family is None or module.uses_akmods(facts) else module.build_commands(facts)
    return Fix(
        _MOK,
        (*commands, *build, as_root("reboot")) if commands else (),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(as_root("mokutil", "--delete", KEY),),
        verify=query("mokutil", "--list-enrolled"),
    )


def _enrol_image_key(facts: Facts, keys: tuple[str, ...]) -> Fix:
    """Nothing is built or signed on an image-based system: its own certificate has to be enrolled."""
    found = first_module(facts)
    signer = known_or(found.signer, None) if found else None
    own = [key for key in keys if not key.endswith("/public_key.der")] or list(keys)
    who = f' (signer: "{signer}")' if signer else ""
    message = f"Enroll the certificate that signed the image's module{who}"
    message += ": " if own else " (the image's publisher provides it): "
    message += "set a password, reboot, choose Enroll MOK in the blue menu, and enter the password."
    commands = tuple(as_root("mokutil", "--import", key) for key in own) or (
        as_root("mokutil", "--import", CERTIFICATE),
    )
    return Fix(
        message,
        (*commands, as_root("systemctl", "reboot")),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(as_root("mokutil", "--delete", own[0] if own else "CERTIFICATE.der"),),
        verify=query("mokutil", "--test-key", own[0]) if own else query("mokutil", "--list-enrolled"),
    )


def _switch_off() -> Fix:
    message = "Disable Secure Boot in the firmware setup (UEFI), if nothing else here needs it."
    return Fix(
        message,
        (),
        "reboot",
        needs="reboot",
        impact="persistent",
        undo=sentence("Enable it again in the firmware setup."),
    )


@check(
    title="Secure Boot rejects NVIDIA's kernel module",
    severity=Severity.ERROR,
    cause="With Secure Boot the kernel loads only modules that are signed with a trusted key. Modules that DKMS or "
    "the .run installer built here are unsigned, or their key (MOK) is not enrolled (Key was rejected by service).",
    fixes=_fixes,
    references=(
        "https://wiki.debian.org/SecureBoot",
        "https://documentation.ubuntu.com/security/docs/security-features/platform-protections/secure-boot/",
        "https://rpmfusion.org/Howto/Secure%20Boot",
    ),
    targets=not_wsl,
    caused_by=(*DEAD, *OTHER_DRIVERS, *BUILD),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def refused_by_secure_boot(facts: Facts) -> Problem | None:
    """Secure Boot is on, and the log reports that the module was rejected or the module is not signed."""
    if known(facts.nvidia.kernel.loaded) is not None or not cards_of(facts, "nvidia"):
        return None
    if isinstance(facts.nvidia.kernel.on_disk, tuple) and not facts.nvidia.kernel.on_disk:
        return None
    rejected, found = events(facts, "module-rejected"), first_module(facts)
    unsigned = found is not None and found.signer is None
    strict = facts.host.kernel.lockdown in STRICT
    suspicious = rejected or (unsigned and strict)
    if not suspicious or (isinstance(facts.host.kernel.secure_boot, Unknown) and not events(facts, "secure-boot-on")):
        known(facts.host.kernel.secure_boot)
        return None
    if known_or(facts.host.kernel.secure_boot, True) is not True:
        return None
    how = "is not signed" if unsigned else "is signed with a key that is not enrolled" if found else "was rejected"
    message = f"Secure Boot is on and NVIDIA's module {how}, so the kernel refuses to load it."
    if rejected and owned_by(facts, "nouveau") and "nouveau" in facts.nvidia.kernel.blacklists:
        message += " nouveau, which is blacklisted, was loaded as a fallback."
    return Problem(message, texts((*events(facts, "secure-boot-on"), *rejected)))
