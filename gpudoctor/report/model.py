"""The report as a machine reads it; its field names are a contract (`gpudoctor.report/1`)."""

from typing import Literal

import msgspec

from gpudoctor.check_engine import Action, Impact
from gpudoctor.facts.text_types import Count, Duration, Moment, Number, Small, Whole
from gpudoctor.report.cpu_gpu_model import CpuGpuEntry
from gpudoctor.report.inventory import Inventory, Scalar
from gpudoctor.tasks import Task, Tasks

SCHEMA = "gpudoctor.report/1"
# Verdicts, worst first. no-gpu: programs have no GPU here, so there is nothing of which a pass could speak.
STATUSES = ("fail", "incomplete", "no-gpu", "warn", "pass")


class Summary(msgspec.Struct, frozen=True, kw_only=True, rename={"passed": "pass"}):
    """How many findings there are of each status, and how the other checks ended."""

    fail: Count = 0
    warn: Count = 0
    advice: Count = 0
    consequences: Count = 0  # problems that follow from a finding
    unknown: Count = 0  # that no finding explains
    passed: Count = 0
    skipped: Count = 0
    broken: Count = 0


class Consequence(msgspec.Struct, frozen=True, kw_only=True):
    """A problem that the finding above it explains."""

    check: str
    message: str
    status: str = "fail"
    subject: str = ""


class FixEntry(msgspec.Struct, frozen=True):
    """One way to fix a finding: in words to type, and the same as data.

    Attributes:
        message: one sentence that starts with a verb.
        commands: what is typed on this machine, by the user who asked.
        action: what kind of act it is.
        root: whether it needs root.
        needs: what has to follow: relogin, restart of a service or container, reboot.
        impact: what it does to the machine, at worst.
        undo: what is typed to take it back.
        verify: the command that shows that it helped.
        place: where it is done: here, or outside of this container or virtual machine.
        as_root: whether the commands are worded for root itself.
        tasks: the commands as data.
        undo_tasks: the same of `undo`.
        verify_task: the same of `verify`.
        later: it fixes nothing: it keeps the problem from coming back, for those who want that.
    """

    message: str
    commands: tuple[str, ...] = ()
    action: Action | None = None
    root: bool = False
    needs: str | None = None
    impact: Impact = "reversible"
    undo: str | None = None
    verify: str | None = None
    place: Literal["here", "outside"] = "here"
    as_root: bool = False
    tasks: Tasks = ()
    undo_tasks: Tasks = ()
    verify_task: Task | None = None
    later: bool = False


class FindingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A root cause."""

    check: str
    status: str  # fail, warn, advice
    subject: str
    title: str
    message: str
    cause: str
    evidence: tuple[str, ...] = ()
    fixes: tuple[FixEntry, ...] = ()
    run: str = ""  # the command of ours that carries out one of them; empty: each needs a person
    consequences: tuple[Consequence, ...] = ()
    affects: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class UnknownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A question that could not be answered, and why."""

    check: str  # "probe" where gathering a part of the facts failed; then the subject names the part
    subject: str
    reason: str
    essential: bool = False
    broken: bool = False


def is_listed(status: str | None) -> bool:
    """Whether a GPU's status is of one that a driver lists."""
    return not (status or "").startswith(("no driver", "driver ", "not in container", "not listed", "unknown"))


class GpuEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU, for a reader of the report; None where it is unknown or does not exist.

    `status` is "ok", "lost" ... as the driver reports. Where only the PCI bus shows the GPU it is "no driver", "driver
    xe" (Intel's; nouveau likewise), "not in container", "not listed" (by the driver that is loaded), or "unknown": no
    driver was asked.
    """

    index: Small
    vendor: str
    name: str | None = None
    address: str | None = None
    capability: str | None = None
    gfx: str | None = None
    memory: Count | None = None  # bytes
    status: str | None = None

    @property
    def listed(self) -> bool:
        """Whether a driver lists it."""
        return is_listed(self.status)


class InstalledEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A CUDA toolkit, a release of ROCm, or a library outside of Python environments.

    Attributes:
        path: its directory; of a library that only a header names, the header.
        version: None: unknown.
        nvcc: of a toolkit, whether it has nvcc; None: unknown, or no toolkit.
        on_path: of a toolkit, whether its nvcc is the one that PATH finds.
        cuda_home: of a toolkit, whether CUDA_HOME or CUDA_PATH names it.
    """

    path: str
    version: str | None = None
    nvcc: bool | None = None
    on_path: bool = False
    cuda_home: bool = False


class LibraryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A library that a framework computes with; None: unknown, or not asked.

    Attributes:
        name: cuDNN, NCCL; in a build for ROCm RCCL.
        loaded: the version that its import loaded, or is linked with; None in a quick check.
        built_for: the version that it was built with or asks for.
        installed: the version of the file that the loader would take.
        path: that file.
    """

    name: str
    loaded: str | None = None
    built_for: str | None = None
    installed: str | None = None
    path: str | None = None


class FrameworkEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A framework, for a reader of the report."""

    name: str
    python: str
    version: str | None = None
    variant: str | None = None  # cuda, rocm, cpu
    built_for: str | None = None  # CUDA or ROCm release
    sees: Small | None = None  # GPUs that it can use; None: not asked or unknown
    error: str | None = None
    libraries: tuple[LibraryEntry, ...] | None = None  # cuDNN, NCCL ...; (): it uses none; None: unknown


class PythonEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An examined interpreter."""

    path: str
    found_by: str = ""  # --python, VIRTUAL_ENV, found in this directory ..., this interpreter
    version: str | None = None
    kind: str | None = None
    manager: str | None = None
    error: str | None = None


class MachineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The machine, for a reader of the report."""

    system: str | None = None
    distribution: str | None = None
    kernel: str | None = None
    architecture: str | None = None
    platform: str | None = None
    container: str | None = None
    product: str | None = None
    driver: str | None = None  # the driver's version: of the loaded module; on WSL, of Windows' driver
    driver_flavor: str | None = None
    driver_libraries: str | None = None  # version of the NVIDIA libraries that programs load
    driver_cuda: str | None = None  # newest CUDA release that the driver runs
    rocm: str | None = None
    amdgpu: str | None = None  # version of AMD's driver package; the kernel's own amdgpu has none
    toolkit: str | None = None  # CUDA toolkit that build tools take
    # Everything installed, outside of Python environments; (): there is none, None: unknown.
    toolkits: tuple[InstalledEntry, ...] | None = None
    cudnn: tuple[InstalledEntry, ...] | None = None
    nccl: tuple[InstalledEntry, ...] | None = None
    rocm_releases: tuple[InstalledEntry, ...] | None = None


class FigureEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A measured number, and what this device could reach at most."""

    name: str
    value: Number
    unit: str  # TFLOP/s, GB/s, images/s, s, ratio, elements
    samples: tuple[Number, ...] = ()
    method: str = ""
    limit: Number | None = None  # in the same unit; None: nobody knows one
    limit_source: str | None = None


class SmokeTestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One smoke test, in one data type where it has several."""

    test: str
    variant: str
    outcome: str  # done, unsupported, failed, hung, died, stopped, not reached
    message: str = ""
    seconds: Duration | None = None
    figures: tuple[FigureEntry, ...] = ()
    notes: dict[str, Scalar] = {}
    # What the driver said of the GPU meanwhile, as in the facts.
    during: dict[str, Scalar | tuple[str, ...] | dict[str, str]] = {}


class SmokeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The smoke tests of one backend on one device."""

    backend: str
    device: str  # "GPU 0", "CPU"
    kind: str  # cuda, rocm, cpu
    python: str
    outcome: str
    message: str = ""
    version: str | None = None
    name: str | None = None
    gpu: str | None = None  # PCI address
    busy: bool | None = None  # others used the GPU before; None: unknown, or the CPU
    import_seconds: Duration | None = None
    start_seconds: Duration | None = None
    digits: str = ""  # what the training step saw
    tests: tuple[SmokeTestEntry, ...] = ()


class SymptomEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a log, and what it has to do with this machine."""

    id: str  # of gpudoctor's tables; empty: a message that it does not know
    role: str  # root, same (cause as the root), also (another error), follows, warning, harmless
    program: str
    message: str  # the log's own words
    meaning: str
    line: Count = 0  # where it stands first; 0: it is no line of a log
    times: Count = 1
    rank: Whole | None = None  # of several processes: which one said it first
    details: tuple[str, ...] = ()  # what its own words tell besides
    explained_by: tuple[str, ...] = ()  # checks whose findings on this machine explain it
    ruled_out: tuple[str, ...] = ()  # checks that look for its causes and found none
    unknown: tuple[str, ...] = ()  # checks that look for its causes and could not tell
    fixes: tuple[FixEntry, ...] = ()  # what helps, as the message itself tells it
    nearest: tuple[str, ...] = ()  # known messages that an unknown one resembles
    advice: str = ""  # what the message itself advises, and why that does not help
    notice: str = ""  # what of this machine has to be known first: the checked Python has not what wrote the message
    unexplained: bool = False  # this machine was checked for its cause, and nothing on it explains the message


# first: the first to fail; behind: others waited for it; silent: no error, while others had one.
Role = Literal["first", "failed", "behind", "waited", "silent", "ok"]


class RankEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the log of one rank of a distributed job says."""

    rank: Whole | None
    log: str  # its file
    role: Role
    line: Count = 0
    message: str = ""
    lines: Count = 0  # that the log has


class LogOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the log was written on this machine."""

    where: Literal["here", "elsewhere", "unknown"] = "unknown"
    evidence: tuple[str, ...] = ()
    typed: bool = False  # it is no log, but a message that somebody typed


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run."""

    schema: str = SCHEMA
    version: str = ""
    status: str = "incomplete"  # one of STATUSES
    created: Moment = ""
    seconds: Duration = 0.0
    summary: Summary = Summary()
    machine: MachineEntry = MachineEntry()
    python: PythonEntry | None = None
    pythons: tuple[PythonEntry, ...] = ()
    gpus: tuple[GpuEntry, ...] = ()
    frameworks: tuple[FrameworkEntry, ...] = ()
    findings: tuple[FindingEntry, ...] = ()
    unknown: tuple[UnknownEntry, ...] = ()
    smoke: tuple[SmokeEntry, ...] = ()
    cpu_gpu: tuple[CpuGpuEntry, ...] = ()  # what the smoke test compare measured on both
    symptoms: tuple[SymptomEntry, ...] = ()  # of a log or a message that was given, the root first
    log_origin: LogOrigin | None = None  # of that log
    ranks: tuple[RankEntry, ...] = ()  # where the logs of several ranks were given, the first to fail first
    next: tuple[str, ...] = ()
    inventory: Inventory = Inventory()  # what like machines have in common, for `gpudoctor fleet`
    not_tested: tuple[str, ...] = ()  # installed packages that compute on a GPU, and that nothing imported
    driver_asked: bool = True  # False: only files were read (--root), so the driver's part is unknown

    @property
    def root_symptom(self) -> SymptomEntry | None:
        """The message of a log, or the one that was given, that everything else follows from; None: there is none."""
        return next((entry for entry in self.symptoms if entry.role != "harmless"), None)

    def __repr__(self) -> str:
        """One line: the status and the findings by their ids."""
        found = [entry.check for entry in self.findings]
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        return f"<Report {self.status}{': ' if found else ''}{', '.join(found[:3])}{more}>"

    def __str__(self) -> str:
        """The report as `gpudoctor check` prints it."""
        from gpudoctor.report.renderers.text import render

        return render(self)

    def _repr_html_(self) -> str:
        """The page as a notebook shows it."""
        from gpudoctor.report.renderers.html import framed

        return framed(self)

    @property
    def ok(self) -> bool:
        """Whether there is a GPU, nothing failed, and enough could be found out to say so."""
        return self.status in ("pass", "warn")

    @property
    def failed(self) -> bool:
        """Whether something failed; where there is no GPU, that something asks for one is such a failure."""
        return self.status == "fail" or any(entry.status == "fail" for entry in self.findings)

    def fails_on(self, mildest: str) -> bool:
        """Whether there is a finding of this status ("fail", "warn", "advice") or a worse one."""
        warned = mildest in ("warn", "advice") and self.summary.warn
        return self.failed or bool(warned or (mildest == "advice" and self.summary.advice))

    def raise_for_failures(self, warnings: bool = False) -> None:
        """Raise if something failed or there is no GPU; what is unknown is not a failure (`ok` is False then).

        Args:
            warnings: whether a warning counts as a failure.

        Raises:
            FailuresError: something failed, or no GPU was found (gpudoctor.FailuresError).
        """
        bad = ("fail", "warn") if warnings else ("fail",)
        found = tuple(entry for entry in self.findings if entry.status in bad)
        if not found and self.status == "no-gpu":
            found = tuple(entry for entry in self.findings if entry.check == "device.no-gpu")
        if found or self.status == "no-gpu":
            from gpudoctor.report.failures import FailuresError

            raise FailuresError(self, found)


def word(status: str) -> str:
    """A verdict as people read it: "PASS", "NO GPU"."""
    return status.upper().replace("-", " ")
