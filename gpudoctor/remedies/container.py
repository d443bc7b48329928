"""Fixes of containers: how each engine hands GPUs in, and how the NVIDIA Container Toolkit is installed."""

from gpudoctor.facts import Facts
from gpudoctor.judge import Fix
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known_or
from gpudoctor.remedies.starters import starters
from gpudoctor.remedies.system import family_of, install
from gpudoctor.subjects import on_wsl

GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
TROUBLES = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html"
REPOSITORY = "https://nvidia.github.io/libnvidia-container"
_KEY = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
_LIST = "/etc/apt/sources.list.d/nvidia-container-toolkit.list"
PROOF = "docker run --rm --gpus all ubuntu nvidia-smi"
RESTART_DOCKER = "sudo systemctl restart docker"
CONFIGURE = "sudo nvidia-ctk runtime configure --runtime=docker"
CONTAINER_AGAIN = "a new container"


_COMPOSE_UP = "docker compose up -d --force-recreate"
# Blocks to paste; `...` stands for what is there already.
_SHM_OF_POD = """spec:
  volumes:
    - name: shm
      emptyDir:
        medium: Memory
        sizeLimit: 16Gi
  containers:
    - name: ...
      volumeMounts:
        - name: shm
          mountPath: /dev/shm"""
_SHM_OF_COMPOSE = """services:
  SERVICE:
    shm_size: 16gb"""
_GPU_OF_POD = """spec:
  runtimeClassName: nvidia
  containers:
    - name: ...
      resources:
        limits:
          nvidia.com/gpu: 1"""
_GPU_OF_COMPOSE = """services:
  SERVICE:
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: all
              capabilities: [gpu]"""


# What is typed outside to hand the GPU in, for engines with one way to do so.
_OTHERS: dict[str, tuple[str, ...]] = {
    "toolbox": (
        "Update Toolbx on the host and enter the box anew: newer releases hand the host's driver libraries in at each "
        "start, without anything of NVIDIA's inside.",
        "toolbox --version",
        "toolbox enter NAME",
    ),
    "distrobox": (
        "Make the box anew with --nvidia, which binds the host's driver libraries into it.",
        "distrobox create --nvidia --name NAME --image IMAGE",
    ),
    "enroot": (
        "Ask for the GPU by the variable that enroot's hook reads (with Slurm and pyxis: export it in the job); the "
        "host needs libnvidia-container's tools, and the job a GPU.",
        "export NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        "enroot start NAME",
        "srun --gpus=1 --container-image=IMAGE nvidia-smi",
    ),
    "flatpak": (
        "Bring Flatpak's copy of NVIDIA's driver libraries to the host's version, and let the program use devices.",
        "flatpak update",
        "flatpak override --user --device=all PROGRAM",
    ),
    "systemd-nspawn": (
        "Bind the GPU's nodes, allow them, and install the driver's libraries inside in exactly the host's version, "
        "without kernel module.",
        "systemd-nspawn --bind=/dev/nvidia0 --bind=/dev/nvidiactl --bind=/dev/nvidia-uvm "
        "--property=DeviceAllow='char-nvidia* rwm' ...",
    ),
}


def engine(facts: Facts) -> str:
    """Which engine runs this container: kubernetes before the runtime beneath it; "docker" where it is unknown."""
    if facts.host.kubernetes is True:
        return "kubernetes"
    return known_or(facts.host.container, None) or "docker"


def again(says: str, *commands: str, verify: str = "nvidia-smi") -> Fix:
    """Something to do outside, with which the container is started anew: files in its own layer are gone then."""
    return Fix(says, commands, "restart-process", needs=CONTAINER_AGAIN, verify=verify)


# -- handing GPUs in -----------------------------------------------------------------------------------------


def pass_gpus(facts: Facts) -> tuple[Fix, ...]:
    """Start the container so that it gets the NVIDIA GPU, in the words of its engine."""
    name = engine(facts)
    if name == "kubernetes":
        return _pod()
    if name == "podman":
        says = "Start the container with the GPU, by its CDI specification, which the host makes once."
        make = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
        return (again(says, make, "podman run --device nvidia.com/gpu=all ..."),)
    if name == "apptainer":
        return (
            again("Start the container with --nv, which binds the host's driver into it.", "apptainer exec --nv ..."),
        )
    if name == "lxc":
        return (_lxc(),)
    if name in _OTHERS:
        return (again(*_OTHERS[name]),)
    return starters(facts) + _docker()


def _docker() -> tuple[Fix, ...]:
    says = "Start the container anew with the GPUs; the host needs the NVIDIA Container Toolkit for it."
    compose = "With Compose: reserve the GPU in the service."
    toolkit = (
        "If --gpus is refused on the host, install the NVIDIA Container Toolkit there and configure Docker for it "
        f"(never install a driver inside the container): {GUIDE}"
    )
    return (
        again(says, "docker run --gpus all ..."),
        again(compose, _GPU_OF_COMPOSE, _COMPOSE_UP),
        Fix(toolkit, (CONFIGURE, RESTART_DOCKER), root=True, needs=CONTAINER_AGAIN, verify=PROOF),
    )


def _pod() -> tuple[Fix, ...]:
    ask = (
        "Ask for the GPU in the pod's specification, by a limit; the line runtimeClassName only where the node has "
        "that class (the first command lists them) and nvidia is not its default runtime."
    )
    node = (
        "On the node: install the NVIDIA Container Toolkit, make nvidia the runtime of containerd, and run the NVIDIA "
        "device plugin (or the GPU operator, which does all of it). The driver belongs on the node, not into the image."
    )
    commands = (
        "sudo nvidia-ctk runtime configure --runtime=containerd --set-as-default",
        "sudo systemctl restart containerd",
        "kubectl get nodes -o custom-columns=NAME:.metadata.name,GPU:.status.allocatable.nvidia\\\\.com/gpu",
    )
    return (
        again(ask, "kubectl get runtimeclass", _GPU_OF_POD, verify="kubectl exec POD -- nvidia-smi"),
        Fix(node, commands, root=True, needs="a new pod", verify="kubectl describe node NODE | grep nvidia.com/gpu"),
    )


def _lxc() -> Fix:
    says = (
        "On the host, give the container the GPU's device nodes: with LXD or Incus by a gpu device, with Proxmox or "
        "plain LXC by mount entries and device rules (195 is nvidia's major, that of nvidia-uvm is in /proc/devices); "
        "inside it takes the driver's libraries in exactly the host's version, without kernel module."
    )
    commands = (
        "lxc config device add CONTAINER gpu gpu",
        "lxc config set CONTAINER nvidia.runtime=true",
        "pct set CTID -dev0 /dev/nvidia0 -dev1 /dev/nvidiactl -dev2 /dev/nvidia-uvm",
    )
    return Fix(says, commands, root=True, needs="restart of the container", verify="nvidia-smi")


# -- the toolkit on the host ---------------------------------------------------------------------------------


def install_toolkit(facts: Facts) -> Fix:
    """Install the NVIDIA Container Toolkit from NVIDIA's repository, and tell Docker of it."""
    commands = (*toolkit_commands(facts), CONFIGURE, *restart_docker(facts))
    says = "Install the NVIDIA Container Toolkit, tell Docker of its runtime, and restart Docker."
    if len(commands) == len(restart_docker(facts)) + 1:
        says += f" NVIDIA's guide has this distribution's commands: {GUIDE}"
    return Fix(
        says,
        commands,
        action="reinstall-package",
        root=True,
        needs="restart of Docker, which restarts its containers",
        verify=PROOF,
    )


def toolkit_commands(facts: Facts) -> tuple[str, ...]:
    """The commands that install NVIDIA's Container Toolkit; none for a distribution that we do not know."""
    family = family_of(facts)
    if family is None:
        return ()
    name = packages.container_toolkit_package(family)
    add = {
        "debian": (
            f"curl -fsSL {REPOSITORY}/gpgkey | sudo gpg --dearmor --yes -o {_KEY}",
            f"curl -fsSL {REPOSITORY}/stable/deb/nvidia-container-toolkit.list | sed 's#deb https://#deb "
            f"[signed-by={_KEY}] https://#g' | sudo tee {_LIST}",
            packages.refresh_command(family),
        ),
        "fedora": (
            f"curl -fsSL {REPOSITORY}/stable/rpm/nvidia-container-toolkit.repo | sudo tee "
            "/etc/yum.repos.d/nvidia-container-toolkit.repo",
        ),
        "suse": (f"sudo zypper addrepo {REPOSITORY}/stable/rpm/nvidia-container-toolkit.repo",),
    }.get(family, ())
    return (*add, *install(facts, name))


def restart_docker(facts: Facts) -> tuple[str, ...]:
    """The command that restarts Docker; in a WSL distribution without systemd it is `service`."""
    return ("sudo service docker restart",) if on_wsl(facts) else (RESTART_DOCKER,)


def compute_capability(facts: Facts) -> tuple[Fix, ...]:
    """Start the container so that libcuda is injected too, not only the tools."""
    if engine(facts) in ("lxc", "systemd-nspawn"):
        says = "Install the package with libcuda in the container, in exactly the version of the host's module."
        return (Fix(says, (), "reinstall-package", root=True, verify="ldconfig -p | grep libcuda"),)
    variable = "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    if engine(facts) == "enroot":
        says = f"Set {variable} before the container starts (enroot's hook takes utility alone where it is not set)."
        return (again(says, f"export {variable}", "enroot start NAME", verify="ldconfig -p | grep libcuda"),)
    run = again(
        f"Start the container anew with {variable}; in an image of your own write ENV {variable} into the Dockerfile.",
        f"docker run --gpus all -e {variable} ...",
        verify="ldconfig -p | grep libcuda",
    )
    if engine(facts) == "kubernetes":
        says = f"Set {variable} in env of the pod's container, or in the image, and start the pod anew."
        return (again(says, verify="kubectl exec POD -- sh -c 'ldconfig -p | grep libcuda'"),)
    compose = again(
        "Where Compose starts it: capabilities of the reserved device overrides that variable, so write "
        "capabilities: [gpu] or [gpu, compute, utility] there, not [gpu, utility].",
        _COMPOSE_UP,
    )
    return run, compose


# -- access that was lost ------------------------------------------------------------------------------------


def lost_access(facts: Facts) -> tuple[Fix, ...]:
    """Start the container anew, and keep systemd from taking the devices away again."""
    name = engine(facts)
    if name == "lxc":
        return (_lxc_rules(facts),)
    if name == "kubernetes":
        return (
            again("Delete the pod, so that a new one is made with its device rules.", "kubectl delete pod POD"),
            _lasting("Lasting: let the device plugin pass device specs (PASS_DEVICE_SPECS=true) or use CDI, so that "
                     "Kubernetes itself knows of the devices; on the node make the links in /dev/char.",
                     "sudo nvidia-ctk system create-dev-char-symlinks --create-all"),
        )  # fmt: skip
    if name == "podman":
        says = "Start the container with CDI, so that the engine itself knows of the devices."
        return (again(says, "podman run --device nvidia.com/gpu=all ..."), _no_cgroups())
    return (
        again("Recreate or restart the container: it gets its device rules anew.", "docker restart CONTAINER"),
        again(
            "Lasting: name the devices, so that Docker tells systemd of them (--device), or use CDI.",
            "docker run --gpus all --device /dev/nvidia0 --device /dev/nvidiactl --device /dev/nvidia-uvm "
            "--device /dev/nvidia-uvm-tools ...",
            "docker run --device nvidia.com/gpu=all ...",
        ),
        _lasting(
            "Lasting, on the host: let Docker manage cgroups itself instead of systemd: add \"exec-opts\": "
            '["native.cgroupdriver=cgroupfs"] to /etc/docker/daemon.json; with systemd as the driver make the links in '
            "/dev/char by which it finds the devices.",
            "sudo nvidia-ctk system create-dev-char-symlinks --create-all",
            RESTART_DOCKER,
        ),
        _no_cgroups(),
    )  # fmt: skip


def _lasting(says: str, *commands: str) -> Fix:
    return Fix(says, commands, "change-environment", root=True, needs=CONTAINER_AGAIN, verify="nvidia-smi")


def _no_cgroups() -> Fix:
    return Fix(
        "If the container never had access, not even at its start: set no-cgroups = false in "
        "/etc/nvidia-container-runtime/config.toml on the host (true is for rootless engines).",
        ("sudo nvidia-ctk config --in-place --set nvidia-container-cli.no-cgroups=false",),
        "change-environment",
        root=True,
        needs=CONTAINER_AGAIN,
        verify="nvidia-smi",
    )


def _lxc_rules(facts: Facts) -> Fix:
    nodes = known_or(facts.nvidia.kernel.nodes, ())
    majors = sorted({n.major for n in nodes if isinstance(n.major, int)}) or [195]
    rules = tuple(f"lxc.cgroup2.devices.allow: c {major}:* rwm" for major in majors)
    return Fix(
        "On the host, allow these majors in the container's configuration (/etc/pve/lxc/CTID.conf or its config file): "
        f"{'; '.join(rules)}. nvidia-uvm's major may change at each boot of the host (/proc/devices).",
        ("grep nvidia /proc/devices",),
        "change-environment",
        root=True,
        needs="restart of the container",
        verify="nvidia-smi",
    )


def selinux(facts: Facts) -> tuple[Fix, ...]:
    """Let containers use devices, for all of them or for this one."""
    podman = engine(facts) == "podman"
    run = "podman run --device nvidia.com/gpu=all" if podman else "docker run --gpus all"
    return (
        Fix(
            "On the host, allow containers to use devices: a switch of SELinux that persists.",
            ("sudo setsebool -P container_use_devices=1",),
            "change-environment",
            root=True,
            needs=CONTAINER_AGAIN,
            impact="persistent",
            undo="sudo setsebool -P container_use_devices=0",
            verify="nvidia-smi",
        ),
        again(
            "Start this one container without SELinux's separation.",
            f"{run} --security-opt=label=disable ...",
        ),
    )


# -- shared memory -------------------------------------------------------------------------------------------


def larger_shm(facts: Facts) -> tuple[Fix, ...]:
    """Give the container more shared memory, in the words of its engine."""
    name, verify = engine(facts), "df -h /dev/shm"
    if name == "kubernetes":
        says = (
            "Mount a volume in memory over /dev/shm: put these lines into the pod's specification, and start it anew. "
            "It counts against the container's memory limit."
        )
        return (again(says, _SHM_OF_POD, verify=verify),)
    if name == "lxc":
        return (Fix("Enlarge /dev/shm.", ("sudo mount -o remount,size=16g /dev/shm",), root=True, verify=verify),)
    program = "podman" if name == "podman" else "docker"
    return (
        again("Start the container with more shared memory.", f"{program} run --shm-size=16g ...", verify=verify),
        again("Share the host's.", f"{program} run --ipc=host ...", verify=verify),
        again("With Compose: write the size into the service.", _SHM_OF_COMPOSE, _COMPOSE_UP, verify=verify),
    )
