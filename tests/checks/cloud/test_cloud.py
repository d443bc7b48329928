"""Checks of rented machines: instance types and hosted notebooks."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.cloud.fewer_gpus import fewer_gpus
from gpudoctor.checks.cloud.grid_driver_needed import grid_driver_needed
from gpudoctor.checks.cloud.instance_without_gpu import instance_without_gpu
from gpudoctor.checks.cloud.notebook_without_gpu import notebook_without_gpu
from gpudoctor.checks.driver.not_installed import not_installed
from gpudoctor.facts import Cloud, DiskModule, Facts, LogEvent
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import ask, card, change, framework, library, nvidia_host, plain_host, with_framework

WHY = Unknown("not to be seen")
SKIPPED = [("skipped", "")]
PASS = [("pass", "")]


def rented(facts: Facts, instance: object, provider: str | None = "aws") -> Facts:
    """The machine as an instance of a type."""
    facts = change(facts, "host.virtual", "kvm")
    return change(facts, "cloud", Cloud(provider=provider, instance=instance, notebook=None, tpu=False))  # type: ignore[arg-type]


def notebook(facts: Facts, name: str | None = "colab", tpu: bool = False) -> Facts:
    """The machine as the container of a hosted notebook."""
    facts = change(facts, "host.container", "docker")
    return change(facts, "cloud", Cloud(provider="gcp", instance=WHY, notebook=name, tpu=tpu))


def roots(facts: Facts) -> dict[str, str]:
    """What a reader of the report sees first: id and status of the findings that nothing explains."""
    report = build(facts, list(judge(facts, catalogue.load())))
    return {finding.check: finding.status for finding in report.findings}


WITH_DRIVER = change(plain_host(), "nvidia.cuda.libraries", (library("libcuda.so.1"),))
WITH_WHEEL = with_framework(framework(live=None), plain_host())
GRID = "Standard_NV36ads_A10_v5"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (rented(nvidia_host(8), "p4d.24xlarge"), PASS),
        (rented(nvidia_host(4), "g4dn.12xlarge"), PASS),
        (rented(nvidia_host(1), "p9.large"), SKIPPED),
        (rented(nvidia_host(1), WHY), SKIPPED),
        (rented(nvidia_host(1), None, None), SKIPPED),
        (change(rented(nvidia_host(2), "p4d.24xlarge"), "host.container", "docker"), SKIPPED),
        (change(rented(nvidia_host(8), "p4d.24xlarge"), "pci", WHY), [("unknown", "not to be seen")]),
        (
            rented(nvidia_host(7), "p4d.24xlarge"),
            [("problem", "AWS's p4d.24xlarge has 8 GPUs (A100), but the PCI bus shows 7.")],
        ),
        (
            rented(plain_host(), "Standard_NC4as_T4_v3", "azure"),
            [("problem", "Azure's Standard_NC4as_T4_v3 has one GPU (T4), but the PCI bus shows none.")],
        ),
    ],
)
def test_fewer_gpus(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(fewer_gpus, facts) == verdict


def test_a_missing_gpu_is_looked_for_on_another_host() -> None:
    commands = [c for v in run(fewer_gpus, rented(nvidia_host(7), "p4d.24xlarge")) for f in v.fixes for c in f.commands]
    assert "aws ec2 stop-instances --instance-ids ID" in commands
    azure = rented(plain_host(), "Standard_NC4as_T4_v3", "azure")
    assert "az vm redeploy" in run(fewer_gpus, azure)[0].fixes[0].commands[0]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (rented(plain_host(), "m7i.large"), PASS),
        (rented(WITH_WHEEL, "g4dn.xlarge"), SKIPPED),
        (rented(WITH_WHEEL, WHY), SKIPPED),
        (rented(change(WITH_DRIVER, "pci", (card(),)), "m7i.large"), PASS),
        (rented(change(WITH_DRIVER, "pci", WHY), "m7i.large"), [("unknown", "not to be seen")]),
        (
            rented(WITH_DRIVER, "m7i.large"),
            [
                (
                    "problem",
                    "AWS's m7i.large is an instance type without a GPU, though NVIDIA's driver is installed: "
                    "everything runs on the CPU.",
                )
            ],
        ),
        (
            rented(WITH_WHEEL, "Standard_D4s_v5", "azure"),
            [
                (
                    "problem",
                    "Azure's Standard_D4s_v5 is an instance type without a GPU, though a framework built for CUDA is "
                    "installed: everything runs on the CPU.",
                )
            ],
        ),
    ],
)
def test_instance_without_gpu(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(instance_without_gpu, facts) == verdict


def test_an_instance_without_gpu_is_the_cause_of_what_other_checks_see() -> None:
    assert roots(rented(WITH_DRIVER, "m7i.large")) == {"cloud.instance-without-gpu": "fail"}
    assert roots(rented(WITH_WHEEL, "m7i.large")) == {"cloud.instance-without-gpu": "advice"}
    assert roots(rented(plain_host(), "m7i.large")) == {"device.no-gpu": "advice"}


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (notebook(nvidia_host()), PASS),
        (notebook(plain_host(), None), SKIPPED),
        (notebook(plain_host(), tpu=True), SKIPPED),
        (notebook(change(plain_host(), "pci", (card(),))), PASS),
        (notebook(change(plain_host(), "pci", WHY)), [("unknown", "not to be seen")]),
        (notebook(change(plain_host(), "nvidia.kernel.nodes", WHY)), [("unknown", "not to be seen")]),
        (
            notebook(plain_host()),
            [("problem", "This session of Google Colab has no GPU: everything runs on the CPU.")],
        ),
        (
            notebook(plain_host(), "kaggle"),
            [("problem", "This session of Kaggle has no GPU: everything runs on the CPU.")],
        ),
    ],
)
def test_notebook_without_gpu(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(notebook_without_gpu, facts) == verdict


def test_a_notebook_on_a_processor_is_one_advice() -> None:
    facts = change(notebook(WITH_WHEEL), "host.environment", {"NVIDIA_VISIBLE_DEVICES": "all"})
    assert roots(facts) == {"cloud.notebook-without-gpu": "advice"}


def grid(**nvml: object) -> Facts:
    """A machine of Azure with a virtual GPU that the driver does not find, unless said otherwise."""
    facts = rented(nvidia_host(), GRID, "azure")
    for name, value in ({"count": 0} | nvml).items():
        facts = change(facts, f"nvidia.nvml.{name}", value)
    return facts


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (grid(count=1), PASS),
        (change(grid(), "nvidia.kernel.loaded", None), PASS),
        (rented(nvidia_host(), "g5.xlarge"), SKIPPED),
        (rented(nvidia_host(), "Standard_NC4as_T4_v3", "azure"), SKIPPED),
        (grid(code=18), PASS),  # half upgraded: the GRID driver's too
        (grid(code=4), PASS),  # a closed node
        (grid(count=WHY), [("unknown", "not to be seen")]),
        (grid(code=WHY), [("unknown", "not to be seen")]),
        (
            grid(),
            [
                (
                    "problem",
                    "Azure's Standard_NV36ads_A10_v5 has a virtual GPU (A10), which needs a current GRID driver; "
                    "driver 570.169 lists no GPU.",
                )
            ],
        ),
    ],
)
def test_grid_driver_needed(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(grid_driver_needed, facts) == verdict


def refused(instance: object = WHY, provider: str = "azure", device: str = "2236", number: int = 2) -> Facts:
    """A virtual machine of a cloud whose module found no GPU that it supports when it was loaded."""
    said = "NVRM: None of the NVIDIA devices were initialized."
    facts = rented(nvidia_host(number), instance, provider)
    facts = change(facts, "pci", tuple(card(i, device=device, driver=None) for i in range(number)))
    facts = change(facts, "log.events", (LogEvent(kind="no-device-probed", text=said),))
    module = DiskModule(kernel="6.8.0", path="/lib/modules/6.8.0/nvidia.ko", version="550.90.07", flavor="open")
    facts = change(facts, "nvidia.kernel.on_disk", (module,))
    for path, value in {"kernel.loaded": None, "nvml.code": 9, "nvml.count": WHY}.items():
        facts = change(facts, f"nvidia.{path}", value)
    return change(change(facts, "gpus", ()), "nvidia.cuda.code", 100)


def without_log(facts: Facts) -> Facts:
    """The machine whose module was never loaded, as far as the kernel's log shows."""
    return change(facts, "log.events", ())


NEEDS = "has a virtual GPU (A10), which needs a current GRID driver; the module 550.90.07 on disk refused the GPU."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (refused(GRID), [("problem", f"Azure's {GRID} {NEEDS}")]),
        (refused(), [("problem", f"This virtual machine of Azure {NEEDS}")]),
        (without_log(refused()), PASS),  # driver.not-loaded
        (change(refused(), "nvidia.kernel.on_disk", ()), PASS),  # driver.not-installed
        (change(without_log(refused()), "nvidia.kernel.on_disk", ()), PASS),
        *(
            (change(refused(), path, WHY), [("unknown", "not to be seen")])
            for path in ("nvidia.kernel.loaded", "nvidia.kernel.on_disk", "log.events")
        ),
        (refused(device="1eb8"), SKIPPED),  # a T4, which Azure passes through whole
        (refused(provider="aws"), SKIPPED),
        (refused("Standard_NC4as_T4_v3"), SKIPPED),
        (change(refused(), "host.container", "docker"), SKIPPED),
        (change(refused(), "pci", WHY), SKIPPED),
        (change(refused(), "pci", (card(device="2236"), card(1, device="1eb8"))), SKIPPED),
    ],
)
def test_a_module_that_refuses_a_virtual_gpu(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(grid_driver_needed, facts) == verdict


def test_a_refused_virtual_gpu_is_why_the_module_is_not_loaded() -> None:
    assert roots(refused()) == {"cloud.grid-driver-needed": "fail"}


def test_the_missing_grid_driver_explains_that_nvml_lists_nothing() -> None:
    facts = change(change(grid(), "gpus", ()), "nvidia.cuda.code", 100)
    assert roots(facts) == {"cloud.grid-driver-needed": "fail"}


@pytest.mark.parametrize(
    ("instance", "provider", "words"),
    [
        (GRID, "azure", ["GRID"]),
        ("p4d.24xlarge", "aws", ["Install NVIDIA's driver"]),
        (WHY, "gcp", ["Install", "Google"]),
    ],
)
def test_each_clouds_way_to_a_driver(instance: object, provider: str, words: list[str]) -> None:
    facts = change(plain_host(), "pci", tuple(card(i, driver=None) for i in range(8)))
    facts = change(facts, "nvidia.kernel.dkms", None)
    message = [fix.message for fix in run(not_installed, rented(facts, instance, provider))[0].fixes]
    assert len(message) == len(words)
    assert all(word in text for word, text in zip(words, message, strict=True))


@pytest.mark.parametrize(
    ("distribution", "kubelet", "first"),
    [
        ("amzn", True, "A node of EKS"),
        ("amzn", False, "Install"),
        ("ubuntu", True, "Install"),
        ("amzn", WHY, "Install"),
    ],
)
def test_a_node_of_eks_gets_its_driver_from_its_image(distribution: str, kubelet: object, first: str) -> None:
    facts = change(plain_host(), "pci", (card(0, driver=None),))
    facts = change(facts, "nvidia.kernel.dkms", None)
    facts = change(change(facts, "host.distribution.id", distribution), "cluster.kubelet", kubelet)
    fix = run(not_installed, rented(facts, "g4dn.xlarge"))[0].fixes[0]
    assert fix.message.startswith(first)
    if first != "Install":
        assert "--ami-type AL2023_x86_64_NVIDIA --instance-types g4dn.xlarge" in fix.commands[0]
