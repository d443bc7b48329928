"""Fixes of containers: how each engine passes GPUs in."""

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI
from gpudoctor.fixes.cluster import ALLOCATABLE
from gpudoctor.fixes.container_launchers import starters
from gpudoctor.fixes.engines import (
    COMPOSE_UP,
    GPU_OF_COMPOSE,
    GPU_OF_POD,
    OTHERS,
    RUNTIME_OF_COMPOSE,
    SHM_OF_COMPOSE,
    SHM_OF_POD,
)
from gpudoctor.maybe import known_or
from gpudoctor.targets import on_jetson_kernel, on_wsl
from gpudoctor.tasks import Shell, Task, Tasks, as_root, cmd, filtered, query
from gpudoctor.tasks.placeholders import CONTAINER, CTID, NODE, POD, REST

GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
TROUBLES = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html"
PROOF = query("docker", "run", "--rm", "--gpus", "all", "ubuntu", "nvidia-smi")
# Of every Jetson, before JetPack 7 without an nvidia-smi that names the GPU.
JETSON_CUDA = query("ls", "-l", "/dev/nvmap")
RESTART_DOCKER = as_root("systemctl", "restart", "docker")
CONFIGURE = as_root("nvidia-ctk", "runtime", "configure", "--runtime=docker")
# Rootless Docker has a configuration of its own; --cdi.enabled sets features.cdi, which is the default from 28.2 on.
ROOTLESS_CDI = Fix(
    "Pass GPUs to the rootless daemon's containers by CDI (Docker 25 or newer), which needs no setting that is shared "
    "with the system's daemon.",
    (
        as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"),
        Shell("nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json --cdi.enabled"),
        cmd("systemctl", "--user", "restart", "docker"),
    ),
    "change-environment",
    needs="restart of the rootless Docker daemon, which restarts its containers",
    undo=(as_root("rm", "/etc/cdi/nvidia.yaml"),),
    verify=query("docker", "run", "--rm", "--device", "nvidia.com/gpu=all", "ubuntu", "nvidia-smi"),
)
CONTAINER_AGAIN, POD_AGAIN = "a new container", "a new pod"
_NODES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
EACH_NODE = tuple(word for node in _NODES for word in ("--device", node))


def engine(facts: Facts) -> str:
    """Which engine runs this container: kubernetes before the runtime beneath it; "docker" where it is unknown."""
    if facts.host.kubernetes is True:
        return "kubernetes"
    return known_or(facts.host.container, None) or "docker"


def again(message: str, *tasks: Task, verify: Task = NVIDIA_SMI, needs: str = CONTAINER_AGAIN) -> Fix:
    """A step outside, which recreates the container: files in its own layer are lost."""
    return Fix(message, tasks, "restart-process", needs=needs, verify=verify, place="outside")


# -- passing GPUs in -----------------------------------------------------------------------------------------


def pass_gpus(facts: Facts) -> tuple[Fix, ...]:
    """Start the container so that it gets the NVIDIA GPU, as its engine does it."""
    name = engine(facts)
    if name == "kubernetes":
        return _pod()
    if name == "podman":
        message = "Start the container with the GPU through its CDI specification, which is generated once on the host."
        make = as_root("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml")
        return (again(message, make, cmd("podman", "run", "--device", "nvidia.com/gpu=all", REST)),)
    if name == "apptainer":
        return (
            again(
                "Start the container with --nv, which binds the host's driver into it.",
                cmd("apptainer", "exec", "--nv", REST),
            ),
        )
    if name == "lxc":
        return (_lxc(),)
    if name in OTHERS:
        message, tasks = OTHERS[name]
        return (again(message, *tasks),)
    return _jetson() if on_jetson_kernel(facts) else starters(facts) + _docker(facts)


def _jetson() -> tuple[Fix, ...]:
    """The toolkit's hook, which --gpus calls, refuses the mode csv, in which Jetson Linux passes GPUs."""
    message = (
        "On a Jetson, recreate the container with the nvidia runtime (--gpus is refused or passes nothing there); a "
        "user other than root needs the group video as well (--group-add video)."
    )
    host = "If the host does not know that runtime: configure it there, then start the container again."
    return (
        again(message, cmd("docker", "run", "--runtime=nvidia", REST), verify=JETSON_CUDA),
        again("With Compose: name the runtime in the service.", RUNTIME_OF_COMPOSE, COMPOSE_UP, verify=JETSON_CUDA),
        Fix(host, (CONFIGURE, RESTART_DOCKER), root=True, needs=CONTAINER_AGAIN, verify=JETSON_CUDA, place="outside"),
    )


def _docker(facts: Facts) -> tuple[Fix, ...]:
    message = "Recreate the container with the GPUs; the host needs the NVIDIA Container Toolkit."
    if on_wsl(facts):
        message = (
            "Recreate the container with the GPUs. Docker Desktop needs only NVIDIA's driver on Windows; an engine "
            "installed in a WSL distribution needs the NVIDIA Container Toolkit there."
        )
    compose = "With Compose: reserve the GPU in the service."
    toolkit = (
        "If the host rejects --gpus, install the NVIDIA Container Toolkit there and configure Docker for it (never "
        f"install a driver inside the container): {GUIDE}"
    )
    return (
        again(message, cmd("docker", "run", "--gpus", "all", REST)),
        again(compose, GPU_OF_COMPOSE, COMPOSE_UP),
        Fix(toolkit, (CONFIGURE, RESTART_DOCKER), root=True, needs=CONTAINER_AGAIN, verify=PROOF, place="outside"),
    )


def _pod() -> tuple[Fix, ...]:
    ask = (
        "Request the GPU in the pod's specification, by a limit; add the line runtimeClassName only if the node has "
        "that class (the first command lists them) and nvidia is not its default runtime."
    )
    node = (
        "On the node: install the NVIDIA Container Toolkit, make nvidia the runtime of containerd, and run the "
        "NVIDIA device plugin (or the GPU operator, which does all of it). The driver belongs on the node, not in "
        "the image."
    )
    commands = (
        as_root("nvidia-ctk", "runtime", "configure", "--runtime=containerd", "--set-as-default"),
        as_root("systemctl", "restart", "containerd"),
        ALLOCATABLE,
    )
    return (
        again(
            ask,
            query("kubectl", "get", "runtimeclass"),
            GPU_OF_POD,
            verify=cmd("kubectl", "exec", POD, "--", "nvidia-smi"),
            needs=POD_AGAIN,
        ),
        Fix(
            node,
            commands,
            root=True,
            needs=POD_AGAIN,
            place="outside",
            verify=filtered(query("kubectl", "describe", "node", NODE), query("grep", "nvidia.com/gpu")),
        ),
    )


def _lxc() -> Fix:
    message = (
        "On the host, pass the GPU's device nodes to the container: with LXD or Incus as a gpu device, with Proxmox "
        "or plain LXC by mount entries and device rules (195 is nvidia's major, that of nvidia-uvm is in "
        "/proc/devices). Inside, install the driver's libraries in exactly the host's version, without the kernel "
        "module."
    )
    commands = (
        cmd("lxc", "config", "device", "add", CONTAINER, "gpu", "gpu"),
        cmd("lxc", "config", "set", CONTAINER, "nvidia.runtime=true"),
        cmd("pct", "set", CTID, "-dev0", "/dev/nvidia0", "-dev1", "/dev/nvidiactl", "-dev2", "/dev/nvidia-uvm"),
    )
    return _outside(message, commands, None, "restart of the container")


# -- lost access ---------------------------------------------------------------------------------------------


def lost_access(facts: Facts) -> tuple[Fix, ...]:
    """Recreate the container, and keep systemd from removing the devices again."""
    name = engine(facts)
    if name == "lxc":
        return (_lxc_rules(facts),)
    if name == "kubernetes":
        return (
            again(
                "Delete the pod, so that a new one gets its device rules.",
                cmd("kubectl", "delete", "pod", POD),
                needs=POD_AGAIN,
            ),
            _lasting(
                "Permanently: let the device plugin pass device specs (PASS_DEVICE_SPECS=true) or use CDI, so that "
                "Kubernetes itself manages the devices; on the node create the links in /dev/char.",
                as_root("nvidia-ctk", "system", "create-dev-char-symlinks", "--create-all"),
            ),
        )
    if name == "podman":
        message = "Start the container with CDI, so that the engine itself manages the devices."
        return (again(message, cmd("podman", "run", "--device", "nvidia.com/gpu=all", REST)), _no_cgroups())
    return (
        again(
            "Restart the container: it gets its device rules again.",
            cmd("docker", "restart", CONTAINER),
            needs="restart of the container",
        ),
        again(
            "Permanently: list the devices (--device), so that Docker reports them to systemd, or use CDI.",
            cmd("docker", "run", "--gpus", "all", *EACH_NODE, REST),
            cmd("docker", "run", "--device", "nvidia.com/gpu=all", REST),
        ),
        _lasting(
            'Permanently, on the host: let Docker manage cgroups itself instead of systemd: add "exec-opts": '
            '["native.cgroupdriver=cgroupfs"] to /etc/docker/daemon.json; with systemd as the driver create the '
            "links in /dev/char by which it finds the devices.",
            as_root("nvidia-ctk", "system", "create-dev-char-symlinks", "--create-all"),
            RESTART_DOCKER,
        ),
        _no_cgroups(),
    )


def _lasting(message: str, *tasks: Task) -> Fix:
    return _outside(message, tasks, "change-environment", CONTAINER_AGAIN)


def _no_cgroups() -> Fix:
    return _lasting(
        "If the container never had access, not even at its start: set no-cgroups = false in "
        "/etc/nvidia-container-runtime/config.toml on the host (true is for rootless engines).",
        as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=false"),
    )


def _outside(message: str, tasks: Tasks, action: Action | None, needs: str) -> Fix:
    """A step to do as root on the host."""
    return Fix(message, tasks, action, root=True, needs=needs, verify=NVIDIA_SMI, place="outside")


def _lxc_rules(facts: Facts) -> Fix:
    nodes = known_or(facts.nvidia.kernel.nodes, ())
    majors = sorted({n.major for n in nodes if isinstance(n.major, int)}) or [195]
    rules = tuple(f"lxc.cgroup2.devices.allow: c {major}:* rwm" for major in majors)
    return _outside(
        "On the host, allow these majors in the container's configuration (/etc/pve/lxc/CTID.conf or its config file): "
        f"{'; '.join(rules)}. nvidia-uvm's major may change at each boot of the host (/proc/devices).",
        (query("grep", "nvidia", "/proc/devices"),),
        "change-environment",
        "restart of the container",
    )


def selinux(facts: Facts) -> tuple[Fix, ...]:
    """Let containers use devices, all of them or only this one."""
    podman = engine(facts) == "podman"
    run = ("podman", "run", "--device", "nvidia.com/gpu=all") if podman else ("docker", "run", "--gpus", "all")
    return (
        Fix(
            "On the host, allow containers to use devices: a persistent SELinux boolean.",
            (as_root("setsebool", "-P", "container_use_devices=1"),),
            "change-environment",
            root=True,
            needs=CONTAINER_AGAIN,
            impact="persistent",
            undo=(as_root("setsebool", "-P", "container_use_devices=0"),),
            verify=NVIDIA_SMI,
            place="outside",
        ),
        again(
            "Start only this container without SELinux's separation.",
            cmd(*run, "--security-opt=label=disable", REST),
        ),
    )


# -- shared memory -------------------------------------------------------------------------------------------


def larger_shm(facts: Facts) -> tuple[Fix, ...]:
    """Give the container more shared memory, as its engine does it."""
    name, verify = engine(facts), query("df", "-h", "/dev/shm")
    if name == "kubernetes":
        message = (
            "Mount a volume in memory over /dev/shm: add these lines to the pod's specification, and restart it. It "
            "counts against the container's memory limit."
        )
        return (again(message, SHM_OF_POD, verify=verify, needs=POD_AGAIN),)
    if name == "lxc":
        return (
            Fix(
                "Enlarge /dev/shm.", (as_root("mount", "-o", "remount,size=16g", "/dev/shm"),), root=True, verify=verify
            ),
        )
    program = "podman" if name == "podman" else "docker"
    return (
        again(
            "Start the container with more shared memory.", cmd(program, "run", "--shm-size=16g", REST), verify=verify
        ),
        again("Share the host's.", cmd(program, "run", "--ipc=host", REST), verify=verify),
        again("With Compose: set the size in the service.", SHM_OF_COMPOSE, COMPOSE_UP, verify=verify),
    )
