"""The driver's and the containers' steps: whose they are, and what comes with them."""

from gpudoctor.facts import Cloud
from gpudoctor.setup.exporters.common import quiet
from gpudoctor.setup.plan import Plan
from gpudoctor.tasks import Pipe, can_run
from gpudoctor.tasks.as_typed import shown, typed
from tests.builders import change, framework, plain_host, with_framework
from tests.machines.registry import machines
from tests.setup.grounds import distribution, machine, without_driver
from tests.setup.plans import known, made, step


def test_in_a_container_and_on_wsl_the_driver_is_somebody_elses() -> None:
    inside = made(change(machine("ada", branch=470), "host.container", "docker"), "torch").steps[0]
    assert inside.commands == ()
    assert "host's administrator" in inside.title
    windows = made(change(machine("ada", branch=470), "host.wsl", 2), "torch").steps[0]
    assert "in Windows, never inside WSL" in windows.title


def test_containers_get_the_toolkit_where_they_have_none() -> None:
    toolkit = step(made(machine("ada"), "torch", container=True), "container-toolkit")
    assert toolkit.root
    assert shown(toolkit.commands[-1]) == "sudo systemctl restart docker"
    assert shown(toolkit.commands[0]) == "sudo apt-get install curl gnupg ca-certificates"
    assert isinstance(toolkit.commands[1], Pipe)
    ready = change(machine("ada"), "containers.toolkit", "1.17.8")
    ready = change(ready, "containers.docker_runtimes", ("nvidia", "runc"))
    assert all(s.id != "container-toolkit" for s in made(ready, "torch", container=True).steps)


def _shown(one: Plan) -> list[str]:
    return list(typed(step(one, "driver").commands))


def test_gpus_behind_switches_get_the_fabric_manager_of_the_drivers_own_release() -> None:
    found = {m.name: m.make for m in machines()}
    hopper = made(without_driver(found["hgx-h100"]()), "torch")
    assert _shown(hopper)[1:] == [
        "sudo apt-get install nvidia-driver-580-server-open",
        "sudo apt-get install nvidia-fabricmanager-580",
        "sudo systemctl enable nvidia-fabricmanager",
    ]
    blackwell = made(without_driver(found["hgx-b200"]()), "torch")
    assert "sudo apt-get install nvidia-fabricmanager-580 nvlsm" in _shown(blackwell)
    red_hat = distribution(without_driver(found["hgx-h100"]()), "rhel", "9.4", "fedora")
    assert "sudo dnf install 'nvidia-fabricmanager-580*'" in _shown(made(red_hat, "torch"))
    guest = made(change(without_driver(found["hgx-b200"]()), "host.virtual", "kvm"), "torch")
    assert not any("fabric" in command for command in _shown(guest))


def test_virtual_gpus_keep_the_driver_that_fits_their_host() -> None:
    facts = change(machine("ada", branch=535), "gpus.0.virtualization", "vgpu")
    found = made(facts, "torch", driver="yes")
    assert all(s.id != "driver" for s in found.steps)
    assert "vGPU software" in found.notes[0]


def test_nothing_is_said_of_kernel_modules_where_windows_has_the_driver() -> None:
    windows = made(change(machine("ada", branch=470), "host.wsl", 2), "torch").steps[0]
    assert "kernel modules" not in windows.why


def test_podman_gets_its_gpus_by_cdi() -> None:
    facts = change(change(machine("ada"), "containers.docker", None), "containers.podman", "/usr/bin/podman")
    toolkit = step(made(facts, "torch", container=True), "container-toolkit")
    assert shown(toolkit.commands[-1]) == "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    assert not any("docker" in shown(c) for c in (*toolkit.commands, *toolkit.verify))


def test_who_says_yes_to_all_of_it_is_asked_nothing() -> None:
    found = _shown(quiet(made(machine("ada", branch=None), "torch")))
    assert found == ["sudo apt-get update", "sudo apt-get --yes install nvidia-driver-580-open"]


def test_a_toolkit_that_is_there_is_only_madeknown() -> None:
    toolkit = step(made(known("toolkit-not-registered"), "torch", container=True), "container-toolkit")
    assert list(typed(toolkit.commands)) == [
        "sudo nvidia-ctk runtime configure --runtime=docker",
        "sudo systemctl restart docker",
    ]


def test_a_rented_virtual_gpu_gets_the_driver_of_its_cloud() -> None:
    cloud = Cloud(provider="azure", instance="Standard_NV36ads_A10_v5", notebook=None, tpu=False)
    facts = change(change(machine("ampere", branch=None), "cloud", cloud), "host.virtual", "hyperv")
    driver = step(made(facts, "torch"), "driver")
    assert "GRID driver" in driver.title
    assert "kernel modules" not in driver.why
    assert not any(map(can_run, driver.commands))  # with words of one's own in it


def test_in_a_wsl_for_rocm_without_a_gpu_nothing_is_planned_for_the_cpu() -> None:
    empty = change(plain_host(), "host.wsl", 2)
    rocm = with_framework(framework(version="2.9.1+rocm6.4", cuda=None, hip="6.4", live=None), empty)
    for facts, why in ((rocm, "PyTorch 2.9.1+rocm6.4 in "), (change(empty, "amd.rocm", "6.4.1"), "ROCm is installed")):
        found = made(facts, "torch")
        assert (found.wheels, found.steps) == ((), ())
        assert why in found.refused[0].why
        assert "--cpu" in found.refused[0].instead
    assert made(empty, "torch").wheels
