"""Whole machines on which several checks find something: one thing is wrong, and the rest follows from it."""

from typing import Any

import msgspec

from gpudoctor.facts import Facts, Remnant
from tests.builders import framework, live, nvidia_host, python, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks import smoke_machines as smoke
from tests.checks.amd_machines import amd_host, kfd, render
from tests.checks.container.test_container import bare, inside
from tests.checks.environments import SITE, blind, environment, machine, package, torch
from tests.checks.nvidia_machines import event, having, nodes, unloaded, versions, xid
from tests.checks.wsl.test_wsl import wsl

NO_GPU = live(0, error="No CUDA GPUs are available", error_code=100)
FOUR = {"torch": "2.7.1", "tensorflow": "2.20.0", "cupy": "13.4.1", "jax": "0.6.0"}
H100 = smoke.machine()
DEAD: dict[str, Any] = {"outcome": "failed", "error": "device-error", "message": "CUDA error: unspecified launch"}


def blind_to_it(facts: Facts) -> Facts:
    """The machine with four frameworks in one environment, none of which finds the GPU."""
    found = python(*(framework(name, version, live=NO_GPU) for name, version in FOUR.items()))
    return msgspec.structs.replace(facts, pythons=(found,))


def refused(facts: Facts, code: int = 100) -> Facts:
    """The machine on which cuInit gives this error."""
    return having(facts, nvidia__cuda__code=code, nvidia__cuda__devices=())


def driver_not_loaded() -> Facts:
    return blind_to_it(unloaded())


def library_mismatch() -> Facts:
    return blind_to_it(versions("570.133.07", "570.169", "570.169"))


def container_without_gpu() -> Facts:
    return blind_to_it(refused(inside(bare(nvidia_host()), NVIDIA_VISIBLE_DEVICES="all")))


def hidden_by_a_variable() -> Facts:
    facts = having(nv.several(2, 0), host__environment={"CUDA_VISIBLE_DEVICES": "-1"}, nvidia__cuda__unmasked_code=0)
    return blind_to_it(refused(facts))


def mig_not_cut() -> Facts:
    facts = nv.several(1, 0, changes=nv.H100 | {"mig": True, "mig_pending": True, "mig_devices": ()})
    return blind_to_it(refused(facts))


def fabric_manager_down() -> Facts:
    facts = nv.hgx(nv.H100, 4, fabric_state="in-progress", fabric_status=None)
    return blind_to_it(refused(having(facts, nvidia__kernel__fabric_manager="inactive"), 802))


def gpu_lost_under_load() -> Facts:
    facts = having(nvidia_host(), gpus__0__status="lost", log__events=(xid(79), xid(31)), log__now=6000.0)
    return blind_to_it(refused(facts))


def unified_memory_missing() -> Facts:
    facts = having(nvidia_host(), nvidia__kernel__nodes=nodes("nvidia0", "nvidiactl"))
    return blind_to_it(refused(having(facts, nvidia__kernel__modules=("nvidia",), nvidia__kernel__uvm_major=None), 999))


def wsl_switched_off() -> Facts:
    return blind_to_it(refused(wsl(wsl__gpu=False, nvidia__kernel__nodes=(), gpus=())))


def kfd_without_permission() -> Facts:
    facts = amd_host(kfd=(kfd(error="EACCES"),), render=(render(error="EACCES"),))
    return having(facts, pythons__0__frameworks__0__live=NO_GPU)


def kfd_refused_in_a_container() -> Facts:
    facts = having(amd_host(kfd=(kfd(error="EPERM"),)), host__container="lxc")
    return having(facts, pythons__0__frameworks__0__live=NO_GPU)


def old_driver_under_two_frameworks() -> Facts:
    found = python(framework(live=NO_GPU), framework("cupy", "13.4.1", cuda="12.6", live=NO_GPU))
    return msgspec.structs.replace(machine("11.4"), pythons=(found,))


def half_removed_torch() -> Facts:
    left = (Remnant(module="torch", path=f"{SITE}/torch", reason="no __init__.py"),)
    broken = torch(live=live(0, stage="import", import_error="ImportError: cannot import name '_C' from 'torch'"))
    return environment(broken, remnants=left)


def numpy_2_under_two_frameworks() -> Facts:
    error = "ImportError: numpy.core.multiarray failed to import"
    found = torch("2.2.2", cuda="12.1", live=blind(import_error=error))
    return environment(found, packages=(package("numpy", "2.1.0"),))


def interpreter_broken() -> Facts:
    return with_framework(framework(), error="exit code 1: No module named 'encodings'")


def hot_card_computes_slowly() -> Facts:
    facts = smoke.ill(H100, "matmul", figures={"rate": 50.0})
    hot = {"temperature": 95, "event_reasons": ("hw-thermal-slowdown",), "utilization": 100, "fans": (90,)}
    return having(facts, **{f"gpus__0__{name}": value for name, value in hot.items()})


def worn_memory_computes_wrongly() -> Facts:
    facts = smoke.ill(H100, "matmul", notes={"worst_ratio": 9.0, "worst_row": 3})
    facts = smoke.ill(facts, "stress", notes={"wrong": 3, "not_finite": 1})
    return having(facts, gpus__0__ecc_uncorrected=14)


def wrong_results_from_the_ground_up() -> Facts:
    facts = smoke.ill(H100, "matmul", notes={"worst_ratio": 9.0, "worst_row": 3})
    facts = smoke.ill(facts, "inference", figures={"error": 1.0})
    return smoke.ill(facts, "mixed-precision", figures={"gradient error": 0.3})


def device_error_after_an_xid() -> Facts:
    facts = smoke.of_run(smoke.ill(H100, "matmul bf16", **DEAD), outcome="failed", error="device-error")
    return having(facts, log__events=(xid(48),), gpus__0__ecc_uncorrected=2)


def atomics_missing() -> Facts:
    line = "kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 730<0"
    facts = having(amd_host(topology=False), gpus=(), log__events=(event("amdgpu-atomics", line, device="744c"),))
    return having(facts, pythons__0__frameworks__0__live=NO_GPU)


SEVERAL = (
    driver_not_loaded, library_mismatch, container_without_gpu, hidden_by_a_variable, mig_not_cut,
    fabric_manager_down, gpu_lost_under_load, unified_memory_missing, wsl_switched_off, kfd_without_permission,
    kfd_refused_in_a_container, old_driver_under_two_frameworks, half_removed_torch, numpy_2_under_two_frameworks,
    interpreter_broken, hot_card_computes_slowly, worn_memory_computes_wrongly, wrong_results_from_the_ground_up,
    device_error_after_an_xid, atomics_missing,
)  # fmt: skip
