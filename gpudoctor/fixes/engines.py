"""What to write or type outside of a container to pass a GPU, or more shared memory, in."""

from gpudoctor.tasks import Tasks, cmd, export, lines, query
from gpudoctor.tasks.placeholders import IMAGE, NAME, PROGRAM, REST

COMPOSE_UP = cmd("docker", "compose", "up", "-d", "--force-recreate")
# Blocks to paste; `...` stands for what already exists.
SHM_OF_POD = lines("""spec:
  volumes:
    - name: shm
      emptyDir:
        medium: Memory
        sizeLimit: 16Gi
  containers:
    - name: ...
      volumeMounts:
        - name: shm
          mountPath: /dev/shm""")
SHM_OF_COMPOSE = lines("""services:
  SERVICE:
    shm_size: 16gb""")
GPU_OF_POD = lines("""spec:
  runtimeClassName: nvidia
  containers:
    - name: ...
      resources:
        limits:
          nvidia.com/gpu: 1""")
GPU_OF_COMPOSE = lines("""services:
  SERVICE:
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: all
              capabilities: [gpu]""")
RUNTIME_OF_COMPOSE = lines("""services:
  SERVICE:
    runtime: nvidia""")


# What is typed outside to pass the GPU in, for engines with one way to do so.
OTHERS: dict[str, tuple[str, Tasks]] = {
    "toolbox": (
        "Update Toolbx on the host and enter the box again: newer releases mount the host's driver libraries at "
        "each start, without any NVIDIA software inside.",
        (
            query("toolbox", "--version"),
            cmd("toolbox", "enter", NAME),
        ),
    ),
    "distrobox": (
        "Recreate the box with --nvidia, which binds the host's driver libraries into it.",
        (cmd("distrobox", "create", "--nvidia", "--name", NAME, "--image", IMAGE),),
    ),
    "enroot": (
        "Request the GPU with the variable that enroot's hook reads (with Slurm and pyxis: export it in the job); "
        "the host needs libnvidia-container's tools, and the job a GPU.",
        (
            export("NVIDIA_VISIBLE_DEVICES", "all"),
            export("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),
            cmd("enroot", "start", NAME),
            cmd("srun", "--gpus=1", "--container-image=IMAGE", "nvidia-smi", placeholders=(IMAGE,)),
        ),
    ),
    "flatpak": (
        "Update Flatpak's copy of NVIDIA's driver libraries to the host's version, and allow the program to use "
        "devices.",
        (
            cmd("flatpak", "update"),
            cmd("flatpak", "override", "--user", "--device=all", PROGRAM),
        ),
    ),
    "systemd-nspawn": (
        "Bind the GPU's nodes, allow them, and install the driver's libraries inside in exactly the host's version, "
        "without the kernel module.",
        (
            cmd(
                "systemd-nspawn",
                "--bind=/dev/nvidia0",
                "--bind=/dev/nvidiactl",
                "--bind=/dev/nvidia-uvm",
                "--property=DeviceAllow=char-nvidia* rwm",
                REST,
            ),
        ),
    ),
}
