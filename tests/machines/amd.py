"""AMD's GPUs under ROCm."""

from typing import Any

from gpudoctor.facts import ConfigLine, Dkms, Facts
from tests.builders import framework, live
from tests.checks.amd_machines import IGPU, RADEON, RENDER, VIDEO, amd_host, kfd, render
from tests.checks.environments import environment
from tests.checks.nvidia_machines import event, having
from tests.machines.registry import machine

BLIND = live(0, error="No HIP GPUs are available", error_code=100)

UNLOADED: dict[str, Any] = {"loaded": False, "kfd": (), "render": (), "topology": False}


def blind(facts: Facts) -> Facts:
    """The machine with a PyTorch that finds no GPU."""
    return having(facts, pythons__0__frameworks__0__live=BLIND)


@machine("rocm.kfd-no-permission")
def user_not_in_render() -> Facts:
    """The user may not open /dev/kfd."""
    facts = amd_host(kfd=(kfd(error="EACCES"),), render=(render(error="EACCES"),))
    return blind(having(facts, host__user__groups=(), host__user__known_groups=(RENDER, VIDEO)))


@machine("rocm.rocminfo-fails")
def driver_that_does_not_fit_the_apu() -> Facts:
    """A laptop with a Radeon 890M and AMD's amdgpu-dkms 6.14.14."""
    from tests.checks.rocm.test_rocminfo import FAILED, laptop

    return blind(laptop(FAILED))


@machine("rocm.gfx-not-in-wheel")
def card_that_the_wheel_does_not_know() -> Facts:
    """A Radeon RX 6700 XT: the wheel has no code for gfx1031."""
    from tests.checks.rocm.test_rocm import card

    error = "HIP error: invalid device function"
    return having(amd_host((card("gfx1031"),)), pythons__0__frameworks__0__live=live(1, error=error, error_code=98))


@machine("rocm.dkms-build-failed")
def amdgpu_dkms_not_built() -> Facts:
    """A new kernel, for which amdgpu-dkms was not built."""
    return blind(
        amd_host(
            dkms=(Dkms(module="amdgpu", version="6.10.5", state="added"),),
            loaded=False,
            kfd=(),
            render=(),
            topology=False,
        )
    )


@machine("rocm.not-loaded")
def amdgpu_not_loaded() -> Facts:
    """Amdgpu is blacklisted."""
    lines = (ConfigLine(path="/etc/modprobe.d/blacklist-amdgpu.conf", text="blacklist amdgpu"),)
    idle = amd_host(loaded=False, blacklisted=True, blacklist_lines=lines, kfd=(), render=(), topology=False)
    return blind(having(idle, pci__0__driver=None))


@machine("pytorch.wrong-vendor")
def cuda_wheel_on_amd() -> Facts:
    """Pip took PyPI's PyTorch, which is for CUDA."""
    found = framework("torch", "2.9.1", cuda="12.8", live=live(0, error="Found no NVIDIA driver on your system."))
    return environment(found, facts=amd_host())


@machine("visibility.hip-hides-all")
def mask_hides_the_radeon() -> Facts:
    """HIP_VISIBLE_DEVICES=-1, from a script that wanted the CPU."""
    return blind(having(amd_host(), host__environment={"HIP_VISIBLE_DEVICES": "-1"}))


@machine("visibility.hip-selects-integrated")
def mask_selects_the_integrated_gpu() -> Facts:
    """HIP_VISIBLE_DEVICES=1 on a workstation whose second GPU is the processor's."""
    return having(amd_host((RADEON, IGPU)), host__environment={"HIP_VISIBLE_DEVICES": "1"})


@machine("rocm.pcie-atomics")
def slot_without_atomics() -> Facts:
    """The slot passes no PCIe atomics on, and KFD skips the card."""
    line = "kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 730<0"
    atomics = event("amdgpu-atomics", line, code=None, device="744c")
    return blind(having(amd_host(topology=False), log__events=(atomics,), gpus=()))
