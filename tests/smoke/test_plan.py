"""Which jobs a choice becomes on which machine."""

import msgspec
import pytest

from gpudoctor.facts import CudaDevice, Facts, Smoke
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.smoketests import measure
from gpudoctor.smoketests.options import ChoiceError, SmokeOptions, validated
from gpudoctor.smoketests.plan import no_gpu_for, plan
from tests.builders import change, framework, nvidia_host, plain_host, python, with_framework
from tests.checks.amd_machines import IGPU, RADEON, amd_host

QUICK = ("matmul", "mnist", "transfer", "overlap", "mixed-precision", "bandwidth", "inference")
TORCH, JAX, CUPY = framework("torch"), framework("jax", cuda="12"), framework("cupy", cuda="12")
CPU_TORCH = framework("torch", cuda=None, variant="cpu")


def jobs(facts: Facts, **choice: object) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(job.backend, job.target.label, job.tests) for job in plan(facts, SmokeOptions(**choice))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (with_framework(TORCH), [("pytorch", "GPU 0")]),
        (with_framework(TORCH, nvidia_host(2)), [("pytorch", "GPU 0"), ("pytorch", "GPU 1")]),
        # A build for the CPU on a machine with two GPUs says once that it sees none.
        (with_framework(CPU_TORCH, nvidia_host(2)), [("pytorch", "GPU 0")]),
        (nvidia_host(2), [("driver", "GPU 0"), ("driver", "GPU 1")]),
        (plain_host(), [("cpu", "CPU")]),
        (with_framework(TORCH, plain_host()), [("pytorch", "CPU")]),
        # CuPy computes nothing without a GPU, so nothing is left but the CPU itself.
        (with_framework(CUPY, plain_host()), [("cpu", "CPU")]),
        (amd_host(), [("pytorch", "GPU 0")]),
        (amd_host(gpus=(RADEON, IGPU)), [("pytorch", "GPU 0")]),
    ],
)
def test_the_quick_suite_runs_on_every_gpu_with_every_framework(facts: Facts, wanted: list[tuple[str, str]]) -> None:
    assert jobs(facts) == [(backend, label, QUICK) for backend, label in wanted]


def test_frameworks_follow_each_other_so_that_none_disturbs_another() -> None:
    facts = msgspec.structs.replace(nvidia_host(2), pythons=(python(CUPY, JAX, TORCH),))
    assert [job[:2] for job in jobs(facts)] == [
        ("pytorch", "GPU 0"),
        ("pytorch", "GPU 1"),
        ("jax", "GPU 0"),
        ("jax", "GPU 1"),
        ("cupy", "GPU 0"),
        ("cupy", "GPU 1"),
    ]


def test_tests_between_gpus_run_once_over_all_of_them() -> None:
    found = jobs(with_framework(TORCH, nvidia_host(2)), tests=("matmul", "peer", "allreduce"))
    assert found == [
        ("pytorch", "GPU 0", ("matmul",)),
        ("pytorch", "GPU 1", ("matmul",)),
        ("pytorch", "GPUs 0, 1", ("peer", "allreduce")),
    ]


def test_all_means_all() -> None:
    found = jobs(with_framework(TORCH, plain_host()), everything=True)
    assert found[0][2] == (*QUICK[:5], "fused", *QUICK[5:], "stress", "compare")
    assert found[1] == ("pytorch", "CPU", ("peer", "allreduce", "data-parallel"))


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ({"devices": ("1",)}, [("pytorch", "GPU 1")]),
        ({"devices": ("0000:02:00.0",)}, [("pytorch", "GPU 1")]),
        ({"devices": ("cpu",)}, [("pytorch", "CPU")]),
        ({"devices": ("all",)}, [("pytorch", "GPU 0"), ("pytorch", "GPU 1")]),
        ({"devices": ("0", "0")}, [("pytorch", "GPU 0")]),
        ({"devices": ("0",), "backends": ("driver",)}, [("driver", "GPU 0")]),
        ({"backends": ("cpu",)}, [("cpu", "CPU")]),
        ({"devices": ("0",), "backends": ("cpu", "pytorch")}, [("pytorch", "GPU 0"), ("cpu", "CPU")]),
    ],
)
def test_devices_and_backends_can_be_chosen(choice: dict[str, object], wanted: list[tuple[str, str]]) -> None:
    assert [job[:2] for job in jobs(with_framework(TORCH, nvidia_host(2)), **choice)] == wanted


def test_the_driver_on_a_machine_without_a_gpu_says_itself_what_it_misses() -> None:
    job = plan(plain_host(), SmokeOptions(backends=("driver",)))[0]
    assert (job.target.kind, job.target.label) == ("cuda", "GPU 0")


@pytest.mark.parametrize(
    ("facts", "choice", "sentence"),
    [
        (nvidia_host(), {"tests": ("matmult",)}, 'Unknown smoke test "matmult". Did you mean "matmul"?'),
        (nvidia_host(), {"dtypes": ("int4",)}, 'Unknown data type "int4". There are fp32, tf32, fp16, bf16, fp8.'),
        (nvidia_host(), {"seconds": 601}, "stress takes 1 to 600 seconds, not 601."),
        (nvidia_host(), {"backends": ("torch",)}, 'Unknown backend "torch". Did you mean "pytorch"?'),
        (with_framework(TORCH), {"backends": ("jax",)}, "JAX is not installed for /opt/env/bin/python."),
        (nvidia_host(), {"backends": ("jax",)}, "JAX is not installed for any Python that was found."),
        (
            nvidia_host(),
            {"devices": ("3",)},
            'No such GPU: "3". There are GPU 0 (NVIDIA GeForce RTX 4090).',
        ),
        (
            plain_host(),
            {"devices": ("0",)},
            'No such GPU: "0". No GPU found; `--device cpu` tests the CPU.',
        ),
    ],
)
def test_what_is_not_there_is_told_in_a_sentence(facts: Facts, choice: dict[str, object], sentence: str) -> None:
    with pytest.raises(ChoiceError) as caught:
        plan(facts, validated(SmokeOptions(**choice)))  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_one_gpu_is_shown_alone_by_its_uuid() -> None:
    uuid = "GPU-00000001-4a1b-2c3d-4e5f-abcdef000000"
    device = CudaDevice(index=0, name="NVIDIA GeForce RTX 4090", uuid=uuid, address="0000:02:00.0")
    facts = change(nvidia_host(2), "nvidia.cuda.devices", (device,))  # CUDA_VISIBLE_DEVICES=1
    (job,) = plan(facts, SmokeOptions())
    assert (job.target.label, job.target.gpu, job.target.uuid, job.target.device) == ("GPU 1", "0000:02:00.0", uuid, 0)


@pytest.mark.parametrize(("uuids", "shown"), [(("GPU-b", "GPU-a"), "GPU-b,GPU-a"), (("GPU-b", Unknown("old")), None)])
def test_between_gpus_those_that_were_chosen_are_shown(uuids: tuple[Maybe[str], ...], shown: str | None) -> None:
    """In the order in which libcuda lists them, which need not be NVML's."""
    addresses = ("0000:03:00.0", "0000:01:00.0")
    devices = [
        CudaDevice(index=at, name="NVIDIA GeForce RTX 4090", uuid=uuid, address=address)
        for at, (uuid, address) in enumerate(zip(uuids, addresses, strict=True))
    ]
    facts = change(with_framework(TORCH, nvidia_host(3)), "nvidia.cuda.devices", tuple(devices))
    (job,) = plan(facts, SmokeOptions(tests=("peer",)))
    target = job.target
    assert (target.label, target.uuid, target.count, target.numbers) == ("GPUs 2, 0", shown, 2, ("2", "0"))


def test_a_slice_of_a_gpu_is_known_as_one() -> None:
    device = CudaDevice(index=0, name="NVIDIA A100 MIG 1g.5gb", uuid="MIG-11", address="0000:01:00.0")
    (job,) = plan(change(nvidia_host(), "nvidia.cuda.devices", (device,)), SmokeOptions())
    assert (job.target.label, job.target.mig, job.target.gpu) == ("GPU 0 (MIG)", True, "0000:01:00.0")


def test_a_number_beyond_the_list_means_no_gpu_of_it() -> None:
    facts = change(nvidia_host(), "nvidia.cuda.devices", (CudaDevice(index=7, name="NVIDIA GeForce RTX 4090"),))
    (job,) = plan(facts, SmokeOptions())
    assert (job.target.label, job.target.gpu) == ("GPU 7", None)


def test_a_driver_that_shows_no_gpu_is_tried_once() -> None:
    facts = change(with_framework(TORCH, nvidia_host(8)), "nvidia.cuda.devices", ())
    assert [job[:2] for job in jobs(facts)] == [("pytorch", "GPU 0")]


@pytest.mark.parametrize(
    "masks",
    [
        {"HIP_VISIBLE_DEVICES": "1"},
        {"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"},
        {"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "1"},
        {"CUDA_VISIBLE_DEVICES": "1"},
        {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"},
        {"ROCR_VISIBLE_DEVICES": "GPU-0002"},
    ],
)
def test_masks_of_amd_decide_what_hip_numbers(masks: dict[str, str]) -> None:
    second = msgspec.structs.replace(RADEON, index=1, address="0000:02:00.0", uuid="GPU-0002")
    facts = change(amd_host(gpus=(RADEON, second)), "host.environment", masks)
    (job,) = plan(facts, SmokeOptions())
    assert (job.target.label, job.target.device, job.target.kind) == ("GPU 1", 0, "rocm")


@pytest.mark.parametrize(
    ("facts", "choice", "none"),
    [
        (plain_host(), SmokeOptions(), True),
        (plain_host(), SmokeOptions(devices=("all",)), True),
        (plain_host(), SmokeOptions(backends=("driver",)), True),
        (with_framework(framework(), plain_host()), SmokeOptions(backends=("pytorch",)), True),
        (plain_host(), SmokeOptions(devices=("cpu",)), False),
        (plain_host(), SmokeOptions(backends=("cpu",)), False),
        (nvidia_host(), SmokeOptions(), False),
    ],
)
def test_without_a_gpu_nothing_runs_but_on_a_cpu_that_somebody_chose(
    facts: Facts, choice: SmokeOptions, none: bool
) -> None:
    assert no_gpu_for(facts, choice) is none


def test_without_a_gpu_not_even_a_worker_is_started() -> None:
    events = measure(Machine(), plain_host(), SmokeOptions(), worker="/no/such/worker")
    with pytest.raises(StopIteration) as ended:
        next(events)
    assert ended.value.value.smoke == Smoke(instead=True)


def test_a_driver_that_does_not_start_shows_so_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both are missing, the driver is named: NumPy would not help."""
    monkeypatch.setattr("gpudoctor.smoketests.plan.find_spec", lambda _name: None)
    for code in (None, 100):
        broken = change(nvidia_host(2), "nvidia.cuda.code", code)
        assert jobs(broken) == [("driver", "GPU 0", ()), ("driver", "GPU 1", ())]
        assert jobs(broken, backends=("driver",)) == jobs(broken)
    for facts in (nvidia_host(), change(nvidia_host(), "nvidia.cuda.code", Unknown("hung"))):
        with pytest.raises(ChoiceError, match="NumPy"):
            jobs(facts)
    with pytest.raises(ChoiceError, match="NumPy"):
        jobs(broken, devices=("cpu",))
