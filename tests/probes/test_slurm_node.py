"""Tests of the probe of how slurmd is to find the GPUs of its node."""

import pytest

from gpudoctor.facts import Host
from gpudoctor.facts.cluster import SlurmNode
from gpudoctor.maybe import Unknown
from gpudoctor.probes import cluster
from gpudoctor.recorded_machine import RecordedMachine

CONF = "/etc/slurm/slurm.conf"
GRES = "/etc/slurm/gres.conf"
FOLDER = "/usr/lib64/slurm"
TEXT = "ClusterName=c\nGresTypes=gpu\nNodeName=gpu[01-04] Gres=gpu:4\n"
BUILT = {f"{FOLDER}/{name}.so": "" for name in ("gpu_generic", "gres_gpu", "task_cgroup", "acct_gather_energy_gpu")}
SLURMD = {"/usr/sbin/slurmd": ""}


def look(
    files: dict[str, str], host: str = "gpu03.cluster", boxed: str | None = None, errors: dict[str, str] | None = None
) -> SlurmNode | None:
    machine = RecordedMachine(files, env={"PATH": "/usr/bin"}, errors=errors or {})
    return cluster.probe(machine, Host(container=boxed, hostname=host)).slurm_node


def node(gres: str, conf: str = TEXT, host: str = "gpu03.cluster") -> SlurmNode:
    found = look({**SLURMD, **BUILT, CONF: conf, GRES: gres}, host)
    assert found is not None
    return found


@pytest.mark.parametrize("boxed", [None, "kubernetes"])
def test_a_node_whose_slurm_has_no_plugin_for_nvml(boxed: str | None) -> None:
    assert look({**SLURMD, **BUILT, CONF: TEXT, GRES: "AutoDetect=nvml\n"}, boxed=boxed) == SlurmNode(
        gres_conf=GRES,
        autodetect="nvml",
        gres_types=True,
        gres="gpu:4",
        plugin_folders=(FOLDER,),
        gpu_plugins=("generic",),
    )


def test_a_machine_without_slurmd() -> None:
    assert look({**BUILT, CONF: TEXT, GRES: "AutoDetect=nvml\n"}) is None


OTHER_NAME = Unknown(f"{GRES} names nodes, and by which name Slurm knows this one is not known")


@pytest.mark.parametrize(
    ("gres", "autodetect", "lists"),
    [
        ("", None, False),
        ("#AutoDetect=nvml\n", None, False),
        ("autodetect = NVML # all\n", "nvml", False),
        ('AutoDetect="rsmi"\n', "rsmi", False),
        ("AutoDetect=nvidia\n", "nvidia", False),
        ("AutoDetect=off\n", None, False),
        ("Name=gpu File=/dev/nvidia[0-3]\n", None, True),
        ("AutoDetect=nvml\nName=gpu Type=a100 \\\n  File=/dev/nvidia[0-3]\n", "nvml", True),
        ("AutoDetect=nvml\nName=gpu Count=4\n", "nvml", True),
        ("AutoDetect=nvml\nName=gpu Type=a100\n", "nvml", False),
        ("AutoDetect=nvml\nName=nic File=/dev/mlx5_0\n", "nvml", False),
        # A line of a node comes before those of all, whatever their order.
        ("AutoDetect=nvml\nNodeName=gpu[01-04] AutoDetect=off Name=gpu File=/dev/nvidia0\n", None, True),
        ("AutoDetect=nvml\nNodeName=gpu04,old[1-9] AutoDetect=off Name=gpu File=/dev/nvidia0\n", "nvml", False),
        ("NodeName=gpu[01,03] AutoDetect=nvml\n", "nvml", False),
        ("NodeName=gpu[1-4] AutoDetect=nvml\n", None, False),
        ("NodeName=gpu[04-09] AutoDetect=nvml\n", None, False),
        ("NodeName=gpu[x-y] AutoDetect=nvml\n", None, False),
        ("include /etc/slurm/more.conf\n", Unknown(f"{GRES} includes other files"), False),
    ],
)
def test_what_gres_conf_says(gres: str, autodetect: object, lists: bool) -> None:
    found = node(gres)
    assert (found.autodetect, found.lists_gpus) == (autodetect, lists)


@pytest.mark.parametrize(
    ("gres", "autodetect", "lists"),
    [
        ("AutoDetect=nvml\n", "nvml", False),
        ("AutoDetect=nvml\nNodeName=gpu[01-04] Name=gpu File=/dev/nvidia0\n", "nvml", True),
        ("AutoDetect=nvml\nNodeName=gpu[01-04] AutoDetect=off\n", OTHER_NAME, False),
    ],
)
def test_a_node_that_slurm_knows_by_another_name(gres: str, autodetect: object, lists: bool) -> None:
    found = node(gres, host="ip-10-0-0-7")
    assert (found.autodetect, found.lists_gpus) == (autodetect, lists)


INCLUDES = Unknown("slurm.conf includes other files")
UNNAMED = Unknown("no line of slurm.conf names it")


@pytest.mark.parametrize(
    ("conf", "types", "gres"),
    [
        ("ClusterName=c\n", False, UNNAMED),
        ("GresTypes=bandwidth\n", False, UNNAMED),
        ("include /etc/slurm/types.conf\n", INCLUDES, INCLUDES),
        ("GresTypes = mps,gpu\n", True, UNNAMED),
        (TEXT, True, "gpu:4"),
        ("GresTypes=gpu\nNodeName=gpu[01-04] CPUs=8\n", True, None),
        ("GresTypes=gpu\nNodeName=DEFAULT Gres=gpu:a100:8\nNodeName=gpu[01-04] CPUs=8\n", True, "gpu:a100:8"),
        ("GresTypes=gpu\nNodeName=gpu[01-04] CPUs=8\nNodeName=DEFAULT Gres=gpu:8\n", True, None),
        ("GresTypes=gpu\nNodeName=n[1-4] NodeHostname=gpu[01-04] gres=gpu:2(S:0),nvme:1\n", True, "gpu:2(S:0),nvme:1"),
        ("GresTypes=gpu\n# NodeName=gpu03 Gres=gpu:4\n", True, UNNAMED),
    ],
)
def test_what_slurm_conf_gives_the_node(conf: str, types: object, gres: object) -> None:
    found = node("AutoDetect=nvml\n", conf)
    assert (found.gres_types, found.gres, found.dynamic) == (types, gres, False)


@pytest.mark.parametrize(
    ("path", "options", "dynamic", "gres"),
    [
        ("/etc/default/slurmd", "SLURMD_OPTIONS=\"-Z --conf 'Features=a'\"\n", True, None),
        ("/etc/default/slurmd", "SLURMD_OPTIONS=\"-Z --conf 'Gres=gpu:8 Features=a'\"\n", True, "gpu:8"),
        ("/etc/sysconfig/slurmd", "SLURMD_OPTIONS=-Z --conf=gres=gpu:h100:8\n", True, "gpu:h100:8"),
        ("/etc/default/slurmd", "#SLURMD_OPTIONS=-Z\nSLURMD_OPTIONS=--conf-server a-Zb:6817\n", False, UNNAMED),
    ],
)
def test_a_node_that_announces_itself(path: str, options: str, dynamic: bool, gres: object) -> None:
    conf = "GresTypes=gpu\nMaxNodeCount=100\n"
    found = look({**SLURMD, **BUILT, CONF: conf, GRES: "AutoDetect=nvml\n", path: options})
    assert found is not None
    assert (found.dynamic, found.gres) == (dynamic, gres)


NVML = "AutoDetect=nvml\n"


@pytest.mark.parametrize(
    ("files", "folders", "plugins"),
    [
        ({CONF: TEXT, f"{FOLDER}/gpu_generic.so": "", f"{FOLDER}/gpu_nvml.so": ""}, (FOLDER,), ("generic", "nvml")),
        ({CONF: TEXT, f"{FOLDER}/gres_gpu.so": ""}, (FOLDER,), ()),
        (
            {CONF: TEXT, "/usr/lib/x86_64-linux-gnu/slurm-wlm/gpu_generic.so": ""},
            ("/usr/lib/x86_64-linux-gnu/slurm-wlm",),
            ("generic",),
        ),
        # With several builds it counts where any has it.
        (
            {
                CONF: TEXT,
                f"{FOLDER}/gpu_generic.so": "",
                "/usr/lib/slurm/gres_gpu.so": "",
                "/usr/lib/slurm/gpu_nvml.so": "",
            },
            (FOLDER, "/usr/lib/slurm"),
            ("generic", "nvml"),
        ),
        # PluginDir alone counts where slurm.conf has it.
        (
            {CONF: f"{TEXT}PluginDir=/a:/b\n", "/b/gpu_generic.so": "", f"{FOLDER}/gres_gpu.so": ""},
            ("/b",),
            ("generic",),
        ),
    ],
)
def test_the_plugins(files: dict[str, str], folders: tuple[str, ...], plugins: tuple[str, ...]) -> None:
    found = look({**SLURMD, GRES: NVML, **files})
    assert found is not None
    assert (found.plugin_folders, found.gpu_plugins) == (folders, plugins)


def test_no_directory_of_plugins() -> None:
    found = look({**SLURMD, CONF: TEXT, GRES: NVML, f"{FOLDER}/other.so": ""})
    why = Unknown("no directory with Slurm's plugins was found")
    assert found == SlurmNode(
        gres_conf=GRES, autodetect="nvml", gres_types=True, gres="gpu:4", plugin_folders=why, gpu_plugins=why
    )


def test_a_slurm_with_a_prefix_of_its_own() -> None:
    home = "/opt/slurm"
    files = {f"{home}/sbin/slurmd": "", f"{home}/etc/slurm.conf": TEXT, f"{home}/etc/gres.conf": NVML}
    assert look({**files, f"{home}/lib/slurm/gpu_generic.so": ""}) == SlurmNode(
        gres_conf=f"{home}/etc/gres.conf",
        autodetect="nvml",
        gres_types=True,
        gres="gpu:4",
        plugin_folders=(f"{home}/lib/slurm",),
        gpu_plugins=("generic",),
    )


@pytest.mark.parametrize("path", [CONF, GRES])
def test_a_configuration_that_cannot_be_read(path: str) -> None:
    found = look({**SLURMD, **BUILT, CONF: TEXT, GRES: NVML}, errors={path: "EACCES"})
    assert found is not None
    assert found.autodetect == Unknown(f"{path}: Permission denied")


def test_no_configuration() -> None:
    assert look({**SLURMD, **BUILT}) == SlurmNode(autodetect=Unknown("no slurm.conf was found"))
    assert look({**SLURMD, **BUILT, CONF: TEXT}) == SlurmNode(autodetect=None, gres_types=True, gres="gpu:4")
