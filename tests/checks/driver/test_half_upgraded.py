"""Libraries and a module on disk of different versions: who brings them together on this system."""

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Dkms
from tests.builders import ask, change
from tests.checks.nvidia_machines import having, versions

HALF = versions("520.56.06", "520.56.06", "525.85.12")
NIXOS = change(change(HALF, "host.distribution.id", "nixos"), "host.distribution.like", ())


def test_nixos_loads_the_new_module_with_the_next_boot() -> None:
    mismatch, half = catalogue.load(["driver.library-mismatch", "driver.half-upgraded"])
    assert ask(half, NIXOS) == [("pass", "")]
    assert [outcome for outcome, _ in ask(mismatch, NIXOS)] == ["problem"]
    assert [fix.commands for fix in mismatch.fixes_for(NIXOS)] == [("sudo reboot",)]
    assert "525.85.12" in mismatch.fixes_for(NIXOS)[0].message


@pytest.mark.parametrize(
    ("identity", "changes", "commands"),
    [
        ("nixos", {}, ("sudo nixos-rebuild boot", "sudo reboot")),
        ("void", {}, ()),
        ("fedora", {"nvidia__kernel__image_keys": ()}, ("sudo rpm-ostree upgrade", "sudo reboot")),
        ("void", {"nvidia__kernel__installer": "runfile"}, ("sudo sh NVIDIA-Linux-x86_64-525.85.12.run --dkms",)),
    ],
)
def test_a_module_that_is_not_of_the_libraries(
    identity: str, changes: dict[str, object], commands: tuple[str, ...]
) -> None:
    """The .run installer is for what it installed; of an image or NixOS only the next boot shows what was built."""
    facts = having(versions("520.56.06", "520.61.05", "525.85.12"), **changes)
    facts = change(change(facts, "host.distribution.id", identity), "host.distribution.like", ())
    (fix,) = catalogue.load(["driver.half-upgraded"])[0].fixes_for(facts)
    assert fix.commands == commands
    assert "modinfo" not in fix.message


@pytest.mark.parametrize(
    ("identity", "names", "first"),
    [
        (
            "fedora",
            ("dkms-nvidia", "nvidia-driver-cuda"),
            ("sudo dnf downgrade dkms-nvidia-520.56.06 nvidia-driver-cuda-520.56.06", "sudo reboot"),
        ),
        ("fedora", (), ()),  # a pattern would take the toolkit and the firmware too, and no release
        ("centos", ("nvidia-driver-cuda",), ("sudo yum downgrade nvidia-driver-cuda-520.56.06", "sudo reboot")),
        ("silverblue", ("akmod-nvidia",), ("rpm-ostree status", "sudo rpm-ostree rollback", "sudo reboot")),
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
    identity: str, names: tuple[str, ...], first: tuple[str, ...]
) -> None:
    packages = tuple((name, "3:525.85.12-1", "ii") for name in names)
    entry = Dkms(module="nvidia", version="525.85.12", state="installed", source="520.56.06")
    faulty = having(HALF, nvidia__kernel__dkms=(entry,), nvidia__kernel__packages=packages)
    faulty = change(change(faulty, "host.distribution.id", identity), "host.distribution.like", ())
    if identity == "silverblue":
        faulty = having(faulty, host__distribution__id="fedora", nvidia__kernel__image_keys=())
    elif identity == "centos":
        faulty = having(faulty, host__distribution__version="7")
    (verdict,) = run(catalogue.load(["driver.half-upgraded"])[0], faulty)
    assert verdict.problem
    assert "NVIDIA_VERSION in version.mk" in (verdict.problem.cause or "")
    assert verdict.fixes[0].commands == first
    # a source that is right, and a module on disk that is not from it
    right = change(faulty, "nvidia.kernel.dkms", (msgspec.structs.replace(entry, source="525.85.12"),))
    (again,) = run(catalogue.load(["driver.half-upgraded"])[0], right)[0].fixes
    assert again.message.startswith("Upgrade the image" if identity == "silverblue" else "Finish the upgrade")
