"""Which difference matters how much, and which is none: the table of rules."""

from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from gpudoctor.comparison.model import DifferenceGroup


class ComparisonRule(NamedTuple):
    """What a place in the tree means.

    Attributes:
        path: names joined by dots; each may hold wildcards, and a last `**` stands for everything below.
        group: how much a difference there matters; None: it differs by nature and is none.
        within: a relative difference of numbers up to which they count as equal.
    """

    path: str
    group: DifferenceGroup | None
    within: float = 0.0


def _all(group: DifferenceGroup | None, *paths: str, within: float = 0.0) -> tuple[ComparisonRule, ...]:
    return tuple(ComparisonRule(path, group, within) for path in paths)


# Rates vary by some per cent from run to run (docs/measurements.md); errors by their magnitude, because they depend on
# the order of additions; a first call waits for a compiler.
NOISE, COLD = 0.05, 0.5
# What the firmware and the kernel keep of a machine's memory varies by a per cent between kernels.
KEPT = 0.02

# The first that fits holds; what none fits is the rest.
FACTS: tuple[ComparisonRule, ...] = (
    # -- by nature: time, load, heat, and what names one machine or one process ----------------------------
    *_all(None, "schema", "created", "seconds", "log.first", "host.hostname", "host.user.name", "host.user.uid"),
    *_all(None, "host.user.sudo"),
    *_all(None, "host.memory_available", "host.shm.free", "host.directories.*.free", "host.working_directory_shadows"),
    *_all(None, "gpus.*.uuid", "gpus.*.serial", "gpus.*.processes.**", "gpus.*.processes", "gpus.*.memory_used"),
    *_all(None, "gpus.*.utilization", "gpus.*.performance_state", "gpus.*.temperature", "gpus.*.power"),
    *_all(None, "gpus.*.sm_clock", "gpus.*.event_reasons", "nvidia.cuda.devices.*.uuid"),
    *_all(None, "pci.*.power_state", "pci.*.runtime_status", "pci.*.link_generation", "pci.*.link_errors"),
    *_all(
        None,
        "host.uptime",
        "host.mains",
        "host.cpu_list",
        "host.thunderbolt",
        "host.thunderbolt.**",
        "pci.*.ports",
        "pci.*.local_cpus",
    ),
    *_all(None, "nvidia.kernel.uvm_major", "nvidia.kernel.nodes.*.m??or", "nvidia.kernel.license"),
    *_all(None, "amd.kfd.*.m??or", "amd.render.*.m??or", "amd.boards.*.address", "amd.boards.*.hive"),
    *_all(None, "amd.closed_nodes", "amd.opens_for_caller"),
    *_all(None, "pythons.*.startup", "pythons.*.found_by", "pythons.*.frameworks.*.live.import_seconds"),
    *_all(None, "pythons.*.frameworks.*.live.stderr"),
    *_all(None, "host.environment.HOME", "host.environment.SLURM_JOB_ID", "host.environment.SLURM_JOB_GPUS"),
    *_all(None, "host.environment.SLURM_STEP_GPUS", "host.environment.KUBERNETES_SERVICE_HOST"),
    *_all(None, "cluster.job", "cluster.client"),
    *_all(None, "smoke.seconds", "smoke.runs.*.python", "smoke.runs.*.gpu", "smoke.runs.*.memory_free"),
    *_all(None, "smoke.runs.*.others", "smoke.runs.*.utilization", "smoke.runs.*.stderr", "smoke.runs.*.stage"),
    *_all(None, "smoke.runs.*.import_seconds", "smoke.runs.*.start_seconds", "smoke.runs.*.tests.*.seconds"),
    *_all(None, "smoke.runs.*.tests.*.during.samples", "smoke.runs.*.tests.*.during.temperature"),
    *_all(None, "smoke.runs.*.tests.*.during.power", "smoke.runs.*.tests.*.during.sm_clock_min"),
    # -- what machine it is -------------------------------------------------------------------------------
    *_all(DifferenceGroup.MACHINE, "gpus", "gpus.*", "gpus.*.name", "nvidia.nvml.count", "cloud.instance"),
    *_all(DifferenceGroup.MACHINE, "host.architecture", "host.platform", "host.virtual"),
    *_all(DifferenceGroup.MACHINE, "host.container", "host.wsl", "host.distribution.name"),
    # -- driver and kernel ---------------------------------------------------------------------------------
    *_all(DifferenceGroup.DRIVER, "nvidia.kernel.loaded", "nvidia.kernel.flavor", "nvidia.nvml.driver_version"),
    *_all(DifferenceGroup.DRIVER, "nvidia.kernel.installer", "nvidia.kernel.modules", "nvidia.kernel.blacklists"),
    *_all(DifferenceGroup.DRIVER, "nvidia.kernel.options", "nvidia.kernel.options.*"),
    *_all(DifferenceGroup.DRIVER, "nvidia.kernel.parameters", "nvidia.kernel.parameters.*"),
    *_all(DifferenceGroup.DRIVER, "nvidia.kernel.nodes.*", "nvidia.kernel.nodes.*.error", "nvidia.kernel.nodes.*.mode"),
    *_all(
        DifferenceGroup.DRIVER,
        "nvidia.kernel.fabric_manager*",
        "nvidia.kernel.persistence_daemon",
        "nvidia.kernel.power_daemon",
        "nvidia.kernel.gridd",
    ),
    *_all(DifferenceGroup.DRIVER, "nvidia.kernel.prime", "nvidia.kernel.switch", "nvidia.kernel.bbswitch"),
    *_all(
        DifferenceGroup.DRIVER, "nvidia.kernel.on_disk.*", "nvidia.kernel.on_disk.*.version", "nvidia.kernel.dkms.*.**"
    ),
    *_all(DifferenceGroup.DRIVER, "nvidia.nvml.code", "nvidia.nvml.text", "nvidia.nvml.hung", "nvidia.nvml.died"),
    *_all(DifferenceGroup.DRIVER, "nvidia.cuda.code", "nvidia.cuda.name", "nvidia.cuda.hung", "nvidia.cuda.died"),
    *_all(
        DifferenceGroup.DRIVER,
        "nvidia.cuda.libraries.*",
        "nvidia.cuda.libraries.*.version",
        "nvidia.cuda.unmasked_code",
    ),
    *_all(DifferenceGroup.DRIVER, "nvidia.nvml.libraries.*", "nvidia.nvml.libraries.*.version", "nvidia.cuda.loaded"),
    *_all(DifferenceGroup.DRIVER, "nvidia.cuda.libraries", "nvidia.nvml.libraries", "nvidia.cuda.libraries.*.kind"),
    *_all(DifferenceGroup.DRIVER, "amd.loaded", "amd.version", "amd.kfd.*", "amd.kfd.*.error", "amd.render.*.error"),
    *_all(DifferenceGroup.DRIVER, "amd.topology", "amd.blacklisted", "amd.dkms.*.**", "pci.*.driver"),
    *_all(DifferenceGroup.DRIVER, "amd.rocminfo", "amd.rocminfo.*", "amd.rocminfo.*.**"),
    *_all(DifferenceGroup.DRIVER, "amd.boards.*.*_partition", "amd.boards.*.performance_level", "amd.rocdxg"),
    *_all(DifferenceGroup.DRIVER, "host.kernel.release", "host.kernel.command_line", "host.kernel.secure_boot"),
    *_all(DifferenceGroup.DRIVER, "host.kernel.lockdown", "host.kernel.reboot_required"),
    *_all(DifferenceGroup.DRIVER, "wsl.gpu", "wsl.ldconfig", "cluster.runtime_configured", "containers.no_cgroups"),
    *_all(DifferenceGroup.DRIVER, "log.events", "log.events.*", "host.l4t"),
    # -- firmware ------------------------------------------------------------------------------------------
    *_all(DifferenceGroup.FIRMWARE, "gpus.*.vbios", "pci.*.revision", "pci.*.subsystem"),
    *_all(DifferenceGroup.FIRMWARE, "pci.*.bar1"),
    # -- versions ------------------------------------------------------------------------------------------
    *_all(DifferenceGroup.VERSIONS, "nvidia.cuda.version", "nvidia.nvml.cuda_version", "amd.rocm"),
    *_all(DifferenceGroup.VERSIONS, "amd.rocm_releases.*", "toolkits.headers.*", "toolkits.headers.*.version"),
    *_all(DifferenceGroup.VERSIONS, "toolkits.home.nvcc", "toolkits.installed.*", "toolkits.libraries.*"),
    *_all(DifferenceGroup.VERSIONS, "toolkits.libraries.*.version", "toolkits.cxx_version", "toolkits.nvccs.*.version"),
    *_all(DifferenceGroup.VERSIONS, "containers.toolkit", "containers.docker_version", "containers.cdi_driver"),
    *_all(DifferenceGroup.VERSIONS, "pythons.*", "pythons.*.version", "pythons.*.error", "pythons.*.frameworks.*"),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"pythons.*.frameworks.*.{name}" for name in ("version", "distribution", "cuda", "hip")),
    ),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"pythons.*.frameworks.*.{name}" for name in ("variant", "archs", "kernels", "cudnn")),
    ),
    *_all(DifferenceGroup.VERSIONS, *(f"pythons.*.frameworks.*.{name}" for name in ("plugin", "plugin_version"))),
    *_all(DifferenceGroup.VERSIONS, *(f"pythons.*.frameworks.*.{name}" for name in ("backend_version", "live"))),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"pythons.*.frameworks.*.live.{name}" for name in ("stage", "hung", "died", "error")),
    ),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"pythons.*.frameworks.*.live.{name}" for name in ("import_error", "available", "count")),
    ),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"pythons.*.frameworks.*.live.{name}" for name in ("cudnn", "cudnn_error", "nccl", "providers")),
    ),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"pythons.*.frameworks.*.live.{name}" for name in ("nvrtc", "nvrtc_error", "built_for")),
    ),
    *_all(DifferenceGroup.VERSIONS, "pythons.*.frameworks.*.needs.*.version"),
    *_all(
        DifferenceGroup.VERSIONS, *(f"pythons.*.packages.{name}" for name in ("nvidia-*", "torch*", "triton*", "jax*"))
    ),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"pythons.*.packages.{n}.version" for n in ("nvidia-*", "torch*", "triton*", "jax*")),
    ),
    # -- GPUs ----------------------------------------------------------------------------------------------
    *_all(DifferenceGroup.GPUS, "gpus.*.status"),
    *_all(DifferenceGroup.GPUS, "gpus.*.link_width*", "gpus.*.link_generation*", "gpus.*.nvlinks", "gpus.*.fabric_*"),
    *_all(DifferenceGroup.GPUS, "cluster.granted"),
    *_all(DifferenceGroup.GPUS, "gpus.*.memory"),
    *_all(
        DifferenceGroup.GPUS, "gpus.*.capability", "gpus.*.gfx", "gpus.*.numa_node", "pci.*", "nvidia.cuda.devices.*"
    ),
    *_all(DifferenceGroup.GPUS, "pci.*.link_width", "pci.*.link_width_max", "pci.*.link_generation_max"),
    *_all(DifferenceGroup.GPUS, "nvidia.cuda.devices.*.memory"),
    *_all(DifferenceGroup.GPUS, "host.memory", within=KEPT),
    *_all(DifferenceGroup.GPUS, "host.memory_limit", "host.memlock", "host.shm.size"),
    *_all(DifferenceGroup.GPUS, "host.cpus", "pci.*.iommu", "pci.*.acs", "host.numa_balancing"),
    # -- settings ------------------------------------------------------------------------------------------
    *_all(DifferenceGroup.SETTINGS, "gpus.*.sm_clock_max"),
    *_all(DifferenceGroup.SETTINGS, "gpus.*.power_limit", "gpus.*.power_default", "gpus.*.power_max"),
    *_all(DifferenceGroup.SETTINGS, "gpus.*.temperature_slowdown", "gpus.*.temperature_operating_max"),
    *_all(DifferenceGroup.SETTINGS, "gpus.*.ecc", "gpus.*.ecc_pending", "gpus.*.ecc_uncorrected", "gpus.*.remap*"),
    *_all(DifferenceGroup.SETTINGS, "gpus.*.retired_pending", "gpus.*.compute_mode", "gpus.*.mig", "gpus.*.mig_*"),
    *_all(DifferenceGroup.SETTINGS, "gpus.*.persistence", "gpus.*.recovery_action", "gpus.*.virtualization"),
    # -- environment variables -----------------------------------------------------------------------------
    *_all(DifferenceGroup.REST, "host.environment.PATH", "host.environment.VIRTUAL_ENV*", "host.environment.CONDA_*"),
    *_all(
        DifferenceGroup.REST, "host.environment.TMPDIR", "host.environment.XDG_CACHE_HOME", "host.environment.HF_HOME"
    ),
    *_all(DifferenceGroup.ENVIRONMENT, "host.environment", "host.environment.*"),
    # -- measured ------------------------------------------------------------------------------------------
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*", "smoke.runs.*.outcome", "smoke.runs.*.version"),
    *_all(
        DifferenceGroup.MEASURED, "smoke.runs.*.tests.*", "smoke.runs.*.tests.*.outcome", "smoke.runs.*.tests.*.error"
    ),
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*.tests.*.figures.*error*", within=9.0),
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*.tests.*.figures.first call", within=COLD),
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*.tests.*.figures.compile", within=COLD),
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*.tests.*.figures.*", within=NOISE),
    *_all(
        DifferenceGroup.MEASURED,
        *(f"smoke.runs.*.tests.*.notes.{n}" for n in ("pinned", "can_access", "transport", "ranks")),
    ),
    *_all(
        DifferenceGroup.MEASURED,
        *(f"smoke.runs.*.tests.*.notes.{n}" for n in ("wrong", "differing", "not_finite", "size")),
    ),
    *_all(None, "smoke.runs.*.tests.*.notes.*"),
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*.tests.*.during.reasons", "smoke.runs.*.tests.*.during.link_*"),
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*.tests.*.during.ecc_uncorrected"),
    *_all(DifferenceGroup.MEASURED, "smoke.runs.*.tests.*.during.*_clock", within=NOISE),
)

# A report tells less, and has its findings compared apart.
REPORT: tuple[ComparisonRule, ...] = (
    *_all(
        None,
        "schema",
        "created",
        "seconds",
        "status",
        "summary.**",
        "findings.**",
        "unknown.**",
        "next.**",
        "symptoms.**",
        "symptoms",
    ),
    *_all(None, "summary", "findings", "unknown", "next", "python", "python.**", "pythons.*.found_by"),
    *_all(
        DifferenceGroup.DRIVER, "machine.driver", "machine.driver_flavor", "machine.driver_libraries", "machine.kernel"
    ),
    *_all(DifferenceGroup.MACHINE, "gpus", "gpus.*", "gpus.*.name"),
    *_all(
        DifferenceGroup.MACHINE, "machine.architecture", "machine.platform", "machine.container", "machine.distribution"
    ),
    *_all(DifferenceGroup.VERSIONS, "machine.driver_cuda", "machine.rocm", "machine.toolkit", "pythons.*.version"),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"machine.{name}.**" for name in ("toolkits", "rocm_releases", "cudnn", "nccl")),
        "frameworks.*.libraries.**",
    ),
    *_all(
        DifferenceGroup.VERSIONS,
        *(f"frameworks.*.{name}" for name in ("version", "variant", "built_for", "sees", "error")),
    ),
    *_all(DifferenceGroup.VERSIONS, "frameworks.*", "pythons.*", "pythons.*.error"),
    *_all(DifferenceGroup.GPUS, "gpus.*.memory"),
    *_all(DifferenceGroup.GPUS, "gpus.*.status", "gpus.*.capability", "gpus.*.gfx"),
    *_all(None, "inventory.machine.**"),  # said above already
    *_all(DifferenceGroup.GPUS, "inventory.gpus.*", "inventory.gpus.*.*"),
    *_all(DifferenceGroup.VERSIONS, "inventory.packages.*", "inventory.packages.*.*"),
    *_all(None, "smoke.*.python", "smoke.*.gpu", "smoke.*.busy", "smoke.*.import_seconds", "smoke.*.start_seconds"),
    *_all(None, "smoke.*.digits", "smoke.*.tests.*.seconds", "smoke.*.tests.*.notes", "smoke.*.tests.*.notes.**"),
    *_all(None, "smoke.*.tests.*.during", "smoke.*.tests.*.during.**"),
    *_all(DifferenceGroup.MEASURED, "smoke.*", "smoke.*.outcome", "smoke.*.version", "smoke.*.tests.*"),
    *_all(DifferenceGroup.MEASURED, "smoke.*.tests.*.outcome"),
    *_all(DifferenceGroup.MEASURED, "smoke.*.tests.*.figures.*error*", within=9.0),
    *_all(DifferenceGroup.MEASURED, "smoke.*.tests.*.figures.first call", within=COLD),
    *_all(DifferenceGroup.MEASURED, "smoke.*.tests.*.figures.compile", within=COLD),
    *_all(DifferenceGroup.MEASURED, "smoke.*.tests.*.figures.*", within=NOISE),
)


def fits(rule: ComparisonRule, path: tuple[str, ...]) -> bool:
    """Whether a rule is about a place."""
    names = _split(rule.path)
    if names[-1] == "**":
        names = names[:-1]
        if len(path) <= len(names):
            return False
        path = path[: len(names)]
    return len(names) == len(path) and all(fnmatchcase(name, one) for name, one in zip(path, names, strict=True))


@cache
def _split(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def rule_of(table: tuple[ComparisonRule, ...], path: tuple[str, ...]) -> ComparisonRule:
    """The first rule of a table that is about a place; without one it belongs to the rest."""
    return next((rule for rule in table if fits(rule, path)), ComparisonRule("**", DifferenceGroup.REST))
