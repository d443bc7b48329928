"""A container whose runtime injected NVML and not libcuda: what is at fault where the variable asks for compute."""

from gpudoctor import check
from gpudoctor.check_engine import run
from gpudoctor.checks.container.no_compute_capability import no_compute_capability
from gpudoctor.checks.pytorch.import_fails import import_fails
from gpudoctor.facts import Facts
from tests.builders import change, live, nvidia_host, with_framework
from tests.checks.environments import torch

LIBCUDA = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"
VARIABLE = "NVIDIA_DRIVER_CAPABILITIES"


def without_libcuda(value: str | None, kubernetes: bool = False, error: str = "") -> Facts:
    facts = nvidia_host()
    if error:
        facts = with_framework(torch(live=live(import_error=error)), facts)
    variables = {**facts.host.environment, **({VARIABLE: value} if value is not None else {})}
    changes = {"host.container": "docker", "host.kubernetes": kubernetes, "host.environment": variables}
    changes |= {"nvidia.cuda.libraries": (), "nvidia.cuda.code": None}
    for path, new in changes.items():
        facts = change(facts, path, new)
    return facts


def commands(facts: Facts) -> list[str]:
    (verdict,) = run(no_compute_capability, facts)
    return [command for fix in verdict.fixes for command in fix.commands]


def test_a_variable_that_asks_for_compute_is_not_set_again() -> None:
    assert any(f"{VARIABLE}=compute,utility" in one for one in commands(without_libcuda("utility")))
    facts = without_libcuda("compute,utility")
    assert commands(facts) == ["docker compose up -d --force-recreate", "docker run --gpus all ..."]
    (verdict,) = run(no_compute_capability, facts)
    assert "compute was not requested" not in verdict.message
    assert commands(without_libcuda("all")) == commands(facts)


def test_in_a_pod_that_asks_for_compute_the_node_is_at_fault() -> None:
    (verdict,) = run(no_compute_capability, without_libcuda("compute,utility", kubernetes=True))
    assert [fix.place for fix in verdict.fixes] == ["outside"]
    assert verdict.fixes[0].commands == ("nvidia-container-cli list | grep libcuda",)


def test_an_import_that_lacks_libcuda_is_an_effect_and_no_reinstall_is_advised() -> None:
    facts = without_libcuda("utility", error=LIBCUDA)
    (found,) = check(facts=facts).findings
    assert found.check == "container.no-compute-capability"
    assert "pytorch.import-fails" in {one.check for one in found.consequences}
    (verdict,) = run(import_fails, facts)
    assert not any("pip install" in command for fix in verdict.fixes for command in fix.commands)


def test_an_import_that_lacks_a_library_of_a_wheel_is_a_finding_of_its_own() -> None:
    error = "ImportError: libcublas.so.12: cannot open shared object file: No such file or directory"
    found = {entry.check for entry in check(facts=without_libcuda("utility", error=error)).findings}
    assert found >= {"container.no-compute-capability", "pytorch.import-fails"}
