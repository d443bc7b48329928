"""Secure Boot rejects NVIDIA's module because it is not signed with a key that the firmware trusts."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DiskModule, Facts
from gpudoctor.fixes import module, prebuilt, system
from gpudoctor.fixes.boot import into_kernel
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cards import owned_by
from gpudoctor.queries.cause_groups import BUILD, DEAD
from gpudoctor.queries.driver import STRICT, first_module, not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.queries.repositories import has_source
from gpudoctor.targets import cards_of, in_container
from gpudoctor.tasks import Placeholder, Tasks, as_root, query, sentence
from gpudoctor.tasks.placeholders import CERTIFICATE, KEY

_MOK = (
    "Enroll the key (MOK) that signed the module: set a password, reboot, choose Enroll MOK in the blue menu that "
    "comes before the system, and enter the password."
)


_NOT_TRUSTED = (
    "A kernel takes the keys that its machine's owner enrolled (MOK) for its modules only if it was built so "
    "(CONFIG_INTEGRITY_MACHINE_KEYRING, or a patch of the distribution); this one takes only the key of its own build."
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        return _for_the_node()
    if facts.nvidia.kernel.image_keys is not None:
        return (_enrol_image_key(facts, facts.nvidia.kernel.image_keys), _switch_off())
    if facts.nvidia.kernel.signer_enrolled is True and not _signed(facts):
        return (*_trusting_kernel(facts), _switch_off())
    signed, enroll = _signed(facts), _enrol(facts)
    # Ubuntu's modules do not fit the packages of NVIDIA's own repository.
    first = (enroll, *signed) if has_source(facts, "nvidia") else (*signed, enroll)
    pending = (_answer(),) if facts.nvidia.kernel.key_pending else ()
    return (*pending, *first, _switch_off())


def _answer() -> Fix:
    """The key was imported: what is missing is the answer at the next boot, on the machine's own screen."""
    message = (
        "Reboot, and at the machine's own screen press a key when the blue MOK menu appears (it waits ten seconds), "
        "choose Enroll MOK, and enter the password that was set when the key was imported. Without that password, "
        "take the next fix."
    )
    verify = query("mokutil", "--list-enrolled")
    return Fix(message, (as_root("reboot"),), "reboot", root=True, needs="reboot", impact="persistent", verify=verify)


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
    """Enroll the key of this machine; the module is built again only where it is not signed with it yet."""
    family, found = system.family_of(facts), first_module(facts)
    signed = found is not None and isinstance(found.signer, str)
    akmods = module.uses_akmods(facts)
    made: Tasks = ()
    build: Tasks = ()
    commands: Tasks = ()
    key: str | Placeholder = KEY
    if akmods:
        key = "/etc/pki/akmods/certs/public_key.der"
        made = (as_root("kmodgenca", "-a"),)
        commands = (as_root("mokutil", "--import", key),)
        build = (as_root("akmods", "--force", "--rebuild", "--kernels", system.kernel_of(facts)),)
    elif prebuilt.has_ubuntus_packages(facts):
        key = "/var/lib/shim-signed/mok/MOK.der"
        made = (as_root("update-secureboot-policy", "--new-key"),)
        commands = (as_root("update-secureboot-policy", "--enroll-key"),)
    elif family in ("debian", "fedora", "suse", "arch"):
        key = "/var/lib/dkms/mok.pub"
        commands = (as_root("mokutil", "--import", key),)
    if commands and not signed:
        again = (*prebuilt.remove_built(facts, system.kernel_of(facts)), *module.build_commands(facts))
        commands = (*made, *commands, *(build or again))
    return Fix(
        _MOK,
        (*commands, as_root("reboot")) if commands else (),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(as_root("mokutil", "--delete", key),),
        verify=query("mokutil", "--test-key", key) if commands else query("mokutil", "--list-enrolled"),
    )


def _trusting_kernel(facts: Facts) -> tuple[Fix, ...]:
    """A kernel that trusts the firmware's enrolled keys for modules, too: deepin-community/kernel#2144."""
    others = facts.nvidia.kernel.other_kernels
    ready = [one.kernel for one in others if one.kernel] if isinstance(others, tuple) else []
    show = query("grep", "-E", "MACHINE_KEYRING|MODULE_SIG", f"/boot/config-{system.kernel_of(facts)}")
    if ready:
        message = f"Boot kernel {ready[-1]}, which has the module, and see whether it takes the key."
        return (into_kernel(facts, ready[-1], message, query("nvidia-smi")),)
    message = "Boot a kernel of the distribution that trusts enrolled keys (MOK) for modules, such as the one before."
    return (Fix(message, (show,), "reboot", needs="reboot", verify=query("nvidia-smi")),)


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
        "https://github.com/deepin-community/kernel/issues/2144",
    ),
    targets=not_wsl,
    caused_by=(*DEAD, "driver.vfio-in-the-way", *BUILD),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def refused_by_secure_boot(facts: Facts) -> Problem | None:
    """Secure Boot is on, and the module was rejected, is not signed, or is signed with a key that is not enrolled."""
    kernel, state = facts.nvidia.kernel, facts.host.kernel.secure_boot
    if known(kernel.loaded) is not None or not cards_of(facts, "nvidia"):
        return None
    if isinstance(kernel.on_disk, tuple) and not kernel.on_disk:
        return None
    on = events(facts, "secure-boot-on")
    if (known_or(state, True) if on else known(state)) is not True:
        return None
    rejected = tuple(e for e in events(facts, "module-rejected") if e.what.get("module", "nvidia").startswith("nvidia"))
    found = first_module(facts)
    if not rejected and not _would_be_rejected(facts):
        return None
    trusted = kernel.signer_enrolled is True
    how = "was rejected" if found is None else f"is {_how(found, trusted=trusted)}"
    message = f"Secure Boot is on and NVIDIA's module {how}, so the kernel refuses to load it."
    if owned_by(facts, "nouveau"):
        listed = "nouveau" in kernel.blacklists
        message += " nouveau, which is blacklisted, was loaded as a fallback." if listed else " nouveau took its place."
    if kernel.key_pending:
        message += " Its key was imported, but nobody has confirmed it in the boot menu yet (mokutil --list-new)."
    seen = () if found is None or not isinstance(found.signer, str) else (f"{found.path}, signer: {found.signer}",)
    return Problem(message, texts((*on, *rejected)) or seen, _NOT_TRUSTED if trusted else None)


def _would_be_rejected(facts: Facts) -> bool:
    """Whether the kernel, which locks down with Secure Boot, refuses the module that modprobe would load.

    Raises:
        UnknownFactError: it is not known whether it is locked down, what the module is, or which keys are enrolled.
    """
    if known(facts.host.kernel.lockdown) not in STRICT:
        return False
    known(facts.nvidia.kernel.on_disk)
    found = first_module(facts)
    return found is not None and (known(found.signer) is None or known(facts.nvidia.kernel.signer_enrolled) is False)


def _how(found: DiskModule, *, trusted: bool) -> str:
    """How the module is signed, of one that the kernel rejects."""
    if trusted:
        return "signed with a key that is enrolled, but that this kernel does not trust for modules"
    return "not signed" if found.signer is None else "signed with a key that is not enrolled"
