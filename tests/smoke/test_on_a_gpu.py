"""`gpudoctor smoke` on a real GPU with each backend that is there: right numbers, no findings, nothing left behind.

GPUDOCTOR_GPU_PYTHON names the interpreters in which frameworks are looked for, with colons between (default: python3
and the one that runs the tests). Run them by `pytest -m gpu`, on a GPU that nobody else uses.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
BACKENDS = {"driver": "", "pytorch": "torch", "cupy": "cupy", "jax": "jax", "tensorflow": "tensorflow"}
SECONDS = 300.0  # of one run of the command
SETTLED = 10.0  # seconds that the driver may take to give back a dead process's memory
SLACK = 32 << 20  # bytes by which the used memory varies by itself
IDLE = 10  # per cent of utilization

# The largest errors that are right, against float64: what stands in docs/measurements.md.
PRODUCTS = {"fp32": 1e-5, "tf32": 1.5e-3, "fp16": 4e-4, "bf16": 3e-3, "fp8": 1e-2}
STEP = {"loss error": 1e-5, "gradient error": 1e-4, "step error": 1e-3}
MIXED = {"bf16": 8e-2, "fp16": 2e-2}
INFERENCE = {"fp32": 1e-4, "bf16": 3e-2, "fp16": 1e-2}
COUNTS = ("not_finite", "not_repeated", "differing", "pieces_differing", "wrong")


class State(NamedTuple):
    """What NVML says of the first GPU: settings that nobody may change, and what programs take."""

    settings: dict[str, Any]
    used: int  # bytes
    processes: int
    utilization: int


class Ran(NamedTuple):
    """One run of the command, and the GPU before and after it."""

    backend: str
    report: dict[str, Any]
    code: int
    before: State
    after: State
    alive: list[str]  # processes of it that still run

    @property
    def entry(self) -> dict[str, Any]:
        """The tests of the backend."""
        (entry,) = self.report["smoke"]
        return dict(entry)

    def values(self, test: str, figure: str) -> dict[str, float]:
        """A figure of a test by variant."""
        return {
            t["variant"]: f["value"]
            for t in self.entry["tests"]
            if t["test"] == test
            for f in t["figures"]
            if f["name"] == figure
        }


@pytest.fixture(scope="module")
def nvml() -> Iterator[Any]:
    """NVML, where a GPU answers; it is asked in a child first, because a driver that hangs would hang the tests."""
    asked = "import ctypes; c = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int()\n"
    asked += "raise SystemExit(c.cuInit(0) or c.cuDeviceGetCount(ctypes.byref(n)) or not n.value)"
    try:
        code = subprocess.run([sys.executable, "-c", asked], stderr=subprocess.DEVNULL, timeout=120).returncode
    except subprocess.TimeoutExpired:
        pytest.skip("libcuda does not respond within two minutes")
    if code:
        pytest.skip("there is no GPU that libcuda reaches")
    library = importlib.import_module("pynvml")
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        pytest.skip(f"NVML does not respond: {error}")
    yield library
    library.nvmlShutdown()


@pytest.fixture(scope="module", params=BACKENDS)
def ran(request: pytest.FixtureRequest, nvml: Any) -> Ran:
    """The quick suite of one backend."""
    return run(nvml, request.param)


def run(nvml: Any, backend: str, *words: str) -> Ran:
    """Run some tests (none: the quick suite), or skip where the backend's framework is not installed."""
    argv = [sys.executable, "-m", "gpudoctor", "smoke", *words, "--json", "--backend", backend, "--device", "0"]
    if BACKENDS[backend]:
        argv += ["--python", interpreter(BACKENDS[backend])]
    before, mark = state(nvml), f"GPUDOCTOR_TEST={uuid.uuid4()}"
    env = {**os.environ, **dict([mark.split("=")])}
    done = subprocess.run(
        argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
    )
    alive = left(mark)
    until = time.monotonic() + SETTLED
    while (after := state(nvml)).used > before.used + SLACK and time.monotonic() < until:
        time.sleep(0.2)
    assert done.stdout, done.stderr
    return Ran(backend, json.loads(done.stdout), done.returncode, before, after, alive)


def interpreter(module: str) -> str:
    """The first interpreter that has a module."""
    named = os.environ.get("GPUDOCTOR_GPU_PYTHON")
    there = named.split(os.pathsep) if named else [shutil.which("python3") or sys.executable, sys.executable]
    found = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    for python in there:
        if subprocess.run([python, "-c", found], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    pytest.skip(f"{module} is not installed for {' and '.join(there)}")


def state(nvml: Any) -> State:
    """The GPU as NVML tells of it; what it does not have stays the same too."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)

    def ask(call: Callable[..., Any], *more: Any) -> Any:
        try:
            return call(gpu, *more)
        except nvml.NVMLError as error:
            return str(error)

    settings = {
        "persistence": ask(nvml.nvmlDeviceGetPersistenceMode),
        "compute mode": ask(nvml.nvmlDeviceGetComputeMode),
        "ECC": ask(nvml.nvmlDeviceGetEccMode),
        "MIG": ask(nvml.nvmlDeviceGetMigMode),
        "power limit": ask(nvml.nvmlDeviceGetPowerManagementLimit),
        "graphics clock of applications": ask(nvml.nvmlDeviceGetApplicationsClock, nvml.NVML_CLOCK_GRAPHICS),
        "memory clock of applications": ask(nvml.nvmlDeviceGetApplicationsClock, nvml.NVML_CLOCK_MEM),
        "largest SM clock": ask(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM),
        "accounting": ask(nvml.nvmlDeviceGetAccountingMode),
    }
    processes, share = ask(nvml.nvmlDeviceGetComputeRunningProcesses), ask(nvml.nvmlDeviceGetUtilizationRates)
    return State(
        settings,
        int(nvml.nvmlDeviceGetMemoryInfo(gpu).used),
        len(processes) if isinstance(processes, list) else 0,
        getattr(share, "gpu", 0),
    )


def left(mark: str) -> list[str]:
    """The command lines of processes that have a variable of ours."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or is somebody else's
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def test_every_test_ends_well(ran: Ran) -> None:
    assert ran.entry["outcome"] == "done", ran.entry["message"]
    assert ran.entry["kind"] == "cuda"
    ended = {(t["test"], t["variant"]): (t["outcome"], t["message"]) for t in ran.entry["tests"]}
    assert {name: said for name, said in ended.items() if said[0] not in ("done", "unsupported")} == {}
    assert ended[("transfer", "")][0] == "done"
    assert any(name == "matmul" and said[0] == "done" for (name, _), said in ended.items())


def test_numbers_are_right(ran: Ran) -> None:
    products = ran.values("matmul", "error")
    assert products
    assert {d: e for d, e in products.items() if e > PRODUCTS[d]} == {}
    for figure, most in STEP.items():
        assert all(value <= most for value in ran.values("mnist", figure).values()), figure
    assert all(0.9 <= value <= 1.1 for value in ran.values("mnist", "descent").values())
    assert {v: e for v, e in ran.values("mixed-precision", "gradient error").items() if e > MIXED[v]} == {}
    assert {v: e for v, e in ran.values("inference", "error").items() if e > INFERENCE[v]} == {}


def test_nothing_is_lost_or_differs(ran: Ran) -> None:
    counted = {
        (t["test"], t["variant"], name): t["notes"][name]
        for t in ran.entry["tests"]
        for name in COUNTS
        if t["notes"].get(name) is not None
    }
    assert counted
    # XLA promises no equal bits, and no gradients are promised to have them.
    lenient = {("mnist", "", "not_repeated")}
    lenient |= {("matmul", d, "not_repeated") for d in PRODUCTS if ran.backend in ("jax", "tensorflow")}
    assert {key: number for key, number in counted.items() if number and key not in lenient} == {}


def test_a_gpu_computes_faster_than_the_cpu(ran: Ran) -> None:
    rates = ran.values("matmul", "rate")
    if ran.backend == "driver" and not rates:
        pytest.skip("the bare driver tells no rate of its products")
    assert rates
    assert all(rate > 0 for rate in rates.values())
    assert all(value > 1 for value in ran.values("matmul", "speed-up").values())


def test_a_healthy_gpu_has_no_findings(ran: Ran) -> None:
    if ran.before.processes or ran.before.utilization > IDLE:
        pytest.skip("the GPU had something else to do")
    assert [f for f in ran.report["findings"] if f["check"].startswith("smoke.")] == []
    assert ran.entry["busy"] is not True


def test_what_the_driver_said_meanwhile_is_told(ran: Ran) -> None:
    clocks = [t["during"].get("sm_clock") for t in ran.entry["tests"] if t["test"] == "matmul"]
    assert any(isinstance(clock, int | float) and clock > 100 for clock in clocks)


def test_the_memory_is_given_back(ran: Ran) -> None:
    assert ran.after.used <= ran.before.used + SLACK


def test_nothing_keeps_running(ran: Ran) -> None:
    assert ran.alive == []
    assert ran.after.processes <= ran.before.processes


def test_no_setting_is_changed(ran: Ran) -> None:
    assert ran.after.settings == ran.before.settings


@pytest.mark.parametrize(
    ("backend", "test", "words"),
    [("pytorch", "stress", ("--seconds", "3")), ("pytorch", "fused", ()), ("cupy", "fused", ()), ("jax", "fused", ())],
)
def test_what_is_not_in_the_quick_suite(nvml: Any, backend: str, test: str, words: tuple[str, ...]) -> None:
    one = run(nvml, backend, test, *words)
    assert {t["outcome"] for t in one.entry["tests"]} <= {"done", "unsupported"}, one.entry["tests"]
    assert [t for t in one.entry["tests"] if t["notes"].get("wrong") or t["notes"].get("not_finite")] == []
    assert (one.alive, one.after.settings) == ([], one.before.settings)


def test_a_gpu_is_found_without_being_named(nvml: Any) -> None:
    """Nothing but the command: it takes the GPU, whatever is installed."""
    argv = [sys.executable, "-m", "gpudoctor", "smoke", "transfer", "--json"]
    done = subprocess.run(argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    entries = json.loads(done.stdout)["smoke"]
    assert entries
    assert {entry["kind"] for entry in entries} == {"cuda"}
