"""Systems whose image brings NVIDIA's driver: another image is the fix, and no package."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Fix, run
from gpudoctor.checks.driver.gpu_dropped import gpu_dropped
from gpudoctor.facts import Distribution, Facts
from gpudoctor.fixes import image
from gpudoctor.fixes.driver import install_driver
from gpudoctor.maybe import Unknown
from tests.builders import UBUNTU, ask
from tests.checks.nvidia_machines import disk, having, unloaded

PASCAL = {"pci__0__device": "1c94", "pci__0__name": "NVIDIA GeForce MX350", "pci__0__generation": "Pascal"}
KEPLER = {"pci__0__device": "1180", "pci__0__name": "NVIDIA GeForce GTX 680", "pci__0__generation": "Kepler"}
REBASE = "sudo rpm-ostree rebase ostree-image-signed:docker://ghcr.io/ublue-os/{}:stable"


def on_image(variant: Any, distribution: str = "aurora", **changes: Any) -> Facts:
    """A system made of this image, whose open module is too new for its GPU."""
    own = Distribution(id=distribution, like=("fedora",), version="43", codename=None, name="Image", variant=variant)
    plain: dict[str, Any] = {
        "host__distribution": own,
        "nvidia__kernel__image_keys": (),
        "nvidia__kernel__on_disk": (disk("590.48.01", flavor="open"),),
        "nvidia__kernel__packages": (("nvidia-driver", "590.48.01", ""),),
    }
    return unloaded(**(plain | PASCAL | changes))


def fixes(check: str, facts: Facts) -> list[Fix]:
    """The fixes of a check's first subject that has the problem."""
    one = catalogue.load([check])[0]
    return [fix for _, subject in one.targets(facts) if one(subject) for fix in one.fixes_for(subject)]


@pytest.mark.parametrize("check", ["driver.gpu-dropped", "driver.open-module-unsupported"])
@pytest.mark.parametrize(
    ("variant", "images"),
    [
        ("bazzite-nvidia-open", ["bazzite-nvidia"]),
        ("bazzite-gnome-nvidia-open", ["bazzite-gnome-nvidia"]),
        ("bazzite-deck-nvidia-gnome", ["bazzite-gnome-nvidia"]),
        ("bazzite-dx-nvidia", ["bazzite-nvidia"]),  # open modules, whatever its name says
        ("aurora-dx-nvidia-open", ["bazzite-nvidia", "aurora-dx-nvidia"]),
        ("bluefin-nvidia-open", ["bazzite-gnome-nvidia"]),
    ],
)
def test_an_old_gpu_gets_the_image_with_the_proprietary_modules(check: str, variant: str, images: list[str]) -> None:
    found = [fix for fix in fixes(check, on_image(variant)) if fix.tasks]
    assert [fix.commands for fix in found] == [(REBASE.format(name), "sudo systemctl reboot") for name in images]
    assert all("580" in fix.message or "no updates" in fix.message for fix in found)


def test_a_project_that_builds_none_is_said_to() -> None:
    same, other = (fixes("driver.gpu-dropped", on_image(one))[0] for one in ("bazzite-dx-nvidia", "aurora-nvidia-open"))
    assert "no longer built" not in same.message
    assert "It has the same desktop; Aurora is no longer built with those." in other.message


def test_no_image_has_a_branch_before_580() -> None:
    first, *others = fixes("driver.gpu-dropped", on_image("bazzite-nvidia", **KEPLER))
    assert "none has 470" in first.message
    assert not any(fix.tasks for fix in (first, *others))


@pytest.mark.parametrize(
    ("variant", "flavor", "command"),
    [
        ("bazzite", "open", REBASE.format("bazzite-nvidia-open")),
        ("bazzite-nvidia", "open", REBASE.format("bazzite-nvidia-open")),
        ("aurora-dx", "open", REBASE.format("aurora-dx-nvidia-open")),
        ("bazzite-nvidia-open", "open", "sudo rpm-ostree upgrade"),
        ("bazzite-nvidia", "proprietary", "sudo rpm-ostree upgrade"),
        ("aurora-nvidia", "proprietary", REBASE.format("bazzite-nvidia")),
        ("mine-nvidia", "open", "rpm-ostree status"),
    ],
)
def test_which_image_has_the_driver(variant: str, flavor: Any, command: str) -> None:
    (found, *_) = image.driver(on_image(variant), flavor, None)
    assert found.commands[0] == command


def test_every_driver_is_installed_by_the_image() -> None:
    facts = on_image("bazzite-nvidia", pci__0__generation="Blackwell")
    assert install_driver(facts, 580, "open").commands[0] == REBASE.format("bazzite-nvidia-open")


@pytest.mark.parametrize(
    "facts",
    [
        on_image("silverblue", "fedora"),
        on_image(None),
        on_image(Unknown("closed")),
        having(on_image("bazzite-nvidia-open"), nvidia__kernel__image_keys=None),  # in a container
        having(on_image("bazzite-nvidia-open"), host__distribution=UBUNTU),
    ],
)
def test_other_systems_have_packages(facts: Facts) -> None:
    assert image.driver(facts, "proprietary", 580) == ()


@pytest.mark.parametrize("variant", ["silverblue", None, "mine-nvidia", "bazzite-nvidia-open"])
@pytest.mark.parametrize("distribution", ["fedora", "centos", "mine"])
def test_an_image_has_no_module_streams(variant: str | None, distribution: str) -> None:
    facts = on_image(variant, distribution)
    told = [
        c
        for check in ("gpu-dropped", "open-module-unsupported")
        for f in fixes(f"driver.{check}", facts)
        for c in f.commands
    ]
    assert told
    assert not any(" dnf " in f" {command} " for command in told)


@pytest.mark.parametrize(
    ("flavor", "needs"),
    [
        (
            "open",
            "the proprietary kernel modules of driver branch 580 or older; the installed driver 590.48.01, with open "
            "kernel modules, is too new and ignores it.",
        ),
        ("proprietary", "driver branch 580 or older; the installed driver 590.48.01 is too new and ignores it."),
        (
            Unknown("no modinfo"),
            "driver branch 580 or older; the installed driver 590.48.01 is too new and ignores it.",
        ),
    ],
)
def test_the_open_modules_are_named(flavor: Any, needs: str) -> None:
    facts = on_image("aurora-nvidia-open", nvidia__kernel__on_disk=(disk("590.48.01", flavor=flavor),))
    said = f"The GPU at 0000:01:00.0 (NVIDIA GeForce MX350) is a Pascal GPU that needs {needs}"
    assert ask(gpu_dropped, facts) == [("problem", said)]
    assert run(gpu_dropped, facts)


def test_a_layered_module_is_built_by_a_new_deployment() -> None:
    layered = {"nvidia__kernel__packages": (("akmod-nvidia", "580.126.09", ""),), "nvidia__kernel__on_disk": ()}
    facts = on_image("silverblue", "fedora", **layered, host__kernel__headers=False, nvidia__kernel__dkms=None)
    new, old = fixes("driver.headers-missing", facts)
    assert new.commands == ("sudo rpm-ostree upgrade", "sudo systemctl reboot")
    assert "sudo rpm-ostree rollback" in old.commands
    elsewhere = having(facts, nvidia__kernel__other_kernels=(disk(kernel="6.18.9-200.fc43.x86_64"),))
    assert [fix.commands for fix in fixes("driver.built-for-another-kernel", elsewhere)] == [new.commands, old.commands]
