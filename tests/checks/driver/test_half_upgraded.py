"""Libraries and a module on disk of different versions: who brings them together on this system."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Distribution, Dkms, Facts
from tests.builders import FEDORA, UBUNTU, ask, change
from tests.checks.nvidia_machines import having, versions

HALF = versions("520.56.06", "520.56.06", "525.85.12")
SYSTEMS = {
    "arch": Distribution(id="arch", name="Arch Linux"),
    "centos": Distribution(id="centos", like=("rhel", "fedora"), version="7", name="CentOS Linux 7 (Core)"),
    "fedora": FEDORA,
    "image": FEDORA,
    "leap": Distribution(id="opensuse-leap", like=("suse", "opensuse"), version="16.0", name="openSUSE Leap 16.0"),
    "nixos": Distribution(id="nixos", version="25.11", name="NixOS 25.11"),
    "ubuntu": UBUNTU,
    "void": Distribution(id="void", name="Void"),
}


def on(system: str, facts: Facts) -> Facts:
    """The machine with this system."""
    image = {"nvidia__kernel__image_keys": ()} if system == "image" else {}
    return having(facts, host__distribution=SYSTEMS[system], **image)


NIXOS = on("nixos", HALF)
ROLLBACK = ("rpm-ostree status", "sudo rpm-ostree rollback", "sudo reboot")


def test_nixos_loads_the_new_module_with_the_next_boot() -> None:
    mismatch, half = catalogue.load(["driver.library-mismatch", "driver.half-upgraded"])
    assert ask(half, NIXOS) == [("pass", "")]
    assert [outcome for outcome, _ in ask(mismatch, NIXOS)] == ["problem"]
    assert [fix.commands for fix in mismatch.fixes_for(NIXOS)] == [("sudo reboot",)]
    assert "525.85.12" in mismatch.fixes_for(NIXOS)[0].message


_NAME = "NVIDIA-Linux-x86_64-525.85.12.run"
RUNFILE = (
    f"ls {_NAME} || curl -fLO https://us.download.nvidia.com/XFree86/Linux-x86_64/525.85.12/{_NAME} || "
    f"curl -fLO https://us.download.nvidia.com/tesla/525.85.12/{_NAME}",
    f"sudo sh {_NAME} --dkms",
)


@pytest.mark.parametrize(
    ("system", "installer", "commands"),
    [
        ("nixos", None, ("sudo nixos-rebuild boot", "sudo reboot")),
        ("void", None, ()),
        ("image", None, ("sudo rpm-ostree upgrade", "sudo reboot")),
        ("void", "runfile", RUNFILE),
    ],
)
def test_a_module_that_is_not_of_the_libraries(system: str, installer: str | None, commands: tuple[str, ...]) -> None:
    """The .run installer is for what it installed; of an image or NixOS only the next boot shows what was built."""
    facts = on(system, having(versions("520.56.06", "520.61.05", "525.85.12"), nvidia__kernel__installer=installer))
    fix, *back = catalogue.load(["driver.half-upgraded"])[0].fixes_for(facts)
    assert [one.commands for one in back] == ([ROLLBACK] if system == "image" else [])
    assert fix.commands == commands
    assert "modinfo" not in fix.message


@pytest.mark.parametrize(
    ("system", "names", "first"),
    [
        (
            "fedora",
            ("dkms-nvidia", "nvidia-driver-cuda"),
            ("sudo dnf downgrade dkms-nvidia-520.56.06 nvidia-driver-cuda-520.56.06", "sudo reboot"),
        ),
        ("fedora", (), ()),  # a pattern would take the toolkit and the firmware too, and no release
        ("centos", ("nvidia-driver-cuda",), ("sudo yum downgrade nvidia-driver-cuda-520.56.06", "sudo reboot")),
        ("image", ("akmod-nvidia",), ROLLBACK),
        (
            "leap",  # NVIDIA/open-gpu-kernel-modules#1000: the repository of the module was behind
            ("nvidia-compute-G06",),
            ("sudo zypper install --oldpackage nvidia-compute-G06=520.56.06", "sudo reboot"),
        ),
        (
            "ubuntu",
            ("dkms-nvidia", "nvidia-driver-cuda"),
            (
                "sudo apt-get install --allow-downgrades 'dkms-nvidia=520.56.06*' 'nvidia-driver-cuda=520.56.06*'",
                "sudo reboot",
            ),
        ),
        ("arch", ("dkms-nvidia",), ()),
    ],
)
def test_a_package_with_the_source_of_another_release(
    system: str, names: tuple[str, ...], first: tuple[str, ...]
) -> None:
    packages = tuple((name, "3:525.85.12-1", "ii") for name in names)
    entry = Dkms(module="nvidia", version="525.85.12", state="installed", source="520.56.06")
    faulty = on(system, having(HALF, nvidia__kernel__dkms=(entry,), nvidia__kernel__packages=packages))
    (verdict,) = run(catalogue.load(["driver.half-upgraded"])[0], faulty)
    assert verdict.problem
    assert "NVIDIA_VERSION in version.mk" in (verdict.problem.cause or "")
    assert verdict.fixes[0].commands == first
    # a source that is right, and a module on disk that is not from it
    right = change(faulty, "nvidia.kernel.dkms", (msgspec.structs.replace(entry, source="525.85.12"),))
    again, *back = run(catalogue.load(["driver.half-upgraded"])[0], right)[0].fixes
    assert again.message.startswith("Upgrade the image" if system == "image" else "Finish the upgrade")
    assert [one.commands for one in back] == ([first] if first else [])
