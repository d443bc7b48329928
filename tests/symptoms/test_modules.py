"""What lines of the kernel log and of a module's build tell: versions, branches, drivers, stages."""

import pytest

from gpudoctor.facts import Distribution, Facts
from gpudoctor.symptoms.extractors import NOTHING, extracted
from tests.builders import change, nvidia_host

LEGACY = "NVRM: supported through the NVIDIA 390.xx Legacy drivers. Please"
BUILD = "/var/lib/dkms/nvidia/535.54.03/build/nvidia-drm/nvidia-drm-drv.c:748:41: error: implicit declaration"


def on(distribution: str) -> Facts:
    return change(nvidia_host(), "host.distribution", Distribution(id=distribution))


@pytest.mark.parametrize(
    ("name", "text", "details"),
    [
        (
            "module_build",
            f"{BUILD}\nmake: Entering directory '/usr/src/linux-headers-6.8.0-45-generic'",
            "The source of driver 535.54.03 does not compile against kernel 6.8.0-45-generic.",
        ),
        ("module_build", BUILD, "The source of driver 535.54.03 does not compile."),
        (
            "module_build",
            "/var/lib/dkms/amdgpu/6.12.12-2164967.24.04/build/amd/x.c:7:5: error: too few arguments",
            "The source of amdgpu-dkms 6.12.12-2164967.24.04 does not compile.",
        ),
        ("legacy_branch", LEGACY, "The card needs driver branch 390."),
        (
            "rm_init",
            "RmInitAdapter failed! (0x24:0x1c:1603)",
            "Code 0x24:0x1c:1603: it stopped while initializing the GPU: too little power.",
        ),
        (
            "bound_driver",
            "NVRM: GPU 0000:01:00.0 is already bound to vfio-pci.",
            "The driver that has the card: vfio-pci.",
        ),
    ],
)
def test_lines_tell(name: str, text: str, details: str) -> None:
    assert extracted(name, text.splitlines()).details == (details,)


def test_the_branch_that_the_message_names_is_what_is_installed() -> None:
    first, second = extracted("legacy_branch", [LEGACY]).fixes
    assert "sudo apt install nvidia-driver-390" in first.commands
    assert "akmod-nvidia-390xx" in second.commands[0]
    assert extracted("legacy_branch", [LEGACY], on("ubuntu")).fixes == (first,)
    assert extracted("legacy_branch", [LEGACY], on("fedora")).fixes == (second,)
    assert extracted("legacy_branch", [LEGACY], on("arch")).fixes == ()
    assert extracted("legacy_branch", [LEGACY], change(on("ubuntu"), "nvidia.kernel.loaded", "390.157")).fixes == ()
    inside = change(on("ubuntu"), "host.container", "docker")  # its host may be any
    assert extracted("legacy_branch", [LEGACY], inside).fixes == (first, second)


def test_the_driver_that_has_the_card_is_kept_from_it() -> None:
    (fix,) = extracted("bound_driver", ["NVRM: GPU 0000:01:00.0 is already bound to nouveau."]).fixes
    assert "blacklist-nouveau.conf" in fix.commands[0]
    assert "dracut" in fix.message
    (fedora,) = extracted("bound_driver", ["already bound to nouveau"], on("fedora")).fixes
    assert fedora.commands[1:] == ("sudo dracut --force", "sudo reboot")
    assert "dracut" not in fedora.message
    listed = "NVRM: This can occur when another driver was loaded (nouveau, rivafb, nvidiafb), and obtained ownership"
    assert extracted("bound_driver", [listed]) == NOTHING


def test_an_integrated_gpu_that_is_skipped_next_to_another_one_is_no_trouble() -> None:
    skipped = "kfd kfd: amdgpu: skipped device 1002:1638, PCI rejects atomics 730<0"
    assert extracted("kfd_skipped", [skipped, "kfd kfd: amdgpu: added device 1002:744c"]).harmless
    assert extracted("kfd_skipped", [skipped]) == NOTHING


def test_an_xid_has_what_its_action_asks_for() -> None:
    (fix,) = extracted("xid", ["NVRM: Xid (PCI:0000:3b:00): 48, pid=7, DBE"]).fixes
    assert "sudo nvidia-smi --gpu-reset -i 0" in fix.commands
    (fix,) = extracted("xid", ["NVRM: Xid (PCI:0000:3b:00): 31, pid=7, MMU Fault"]).fixes
    assert any("compute-sanitizer" in command for command in fix.commands)
