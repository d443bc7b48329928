"""Groups of checks that explain others: what checks name in `caused_by`."""

# Why an installed driver does not reach a GPU, from the ground up; checks name these in `caused_by`.
DEAD = (
    "device.none",
    "device.driver-without-gpu",
    "device.switched-off",
    "device.thunderbolt-unauthorized",
    "device.wake-failed",
    "device.bar-unassigned",
    "device.bar-resize-failed",
    "device.fallen-off-the-bus",
    "device.removal-waits",
    "device.needs-reset",
    "device.power-cable-missing",
    "device.gsp-firmware-missing",
    "device.no-interrupts",
    "device.gsp-failed",
    "device.init-failed",
    "device.vgpu-host-mismatch",
)
BUILD = (
    "driver.not-installed",
    "driver.headers-missing",
    "driver.dkms-entry-stale",
    "driver.dkms-build-failed",
    "driver.built-for-another-kernel",
    "driver.no-module-for-kernel",
)
OTHER_DRIVERS = (
    "driver.glx-alternative",
    "driver.nouveau-in-the-way",
    "driver.nova-core-in-the-way",
    "driver.vfio-in-the-way",
)
REFUSED = (
    "driver.refused-by-secure-boot",
    "driver.refused-by-lockdown",
    "driver.blacklisted",
    "driver.stopped-by-ibt",
)
UNFIT = (
    "driver.gpu-dropped",
    "driver.gpu-too-new",
    "driver.open-module-unsupported",
    "driver.proprietary-module-unsupported",
    "driver.vgpu-driver-needed",
)
VERSIONS = (
    "driver.half-upgraded",
    "driver.library-mismatch",
    "driver.mixed-installation",
    "driver.compat-mismatch",
    "driver.compat-unsupported",
    "driver.stub-library",
)
NODES = (
    "driver.device-nodes-missing",
    "driver.device-nodes-closed",
    "driver.device-nodes-denied",
    "driver.uvm-missing",
    "driver.uvm-stale",
    "driver.library-missing",
)
HANGS = ("driver.nvml-no-answer", "driver.cuda-no-answer", "driver.crashes")
NOT_LOADED = (*DEAD, *BUILD, *OTHER_DRIVERS, *REFUSED, *UNFIT, "driver.not-loaded")
# Of containers and WSL only what keeps the driver away; a small /dev/shm must not hide a broken driver.
SURROUNDINGS = (
    "cluster.job-without-gpu",
    "container.no-gpus-passed",
    "container.libraries-not-passed",
    "container.control-node-missing",
    "container.no-compute-capability",
    "container.device-access-lost",
    "container.selinux-denied",
    "container.driver-version-inside",
    "wsl.version-1",
    "wsl.no-dxg",
    "wsl.gpu-disabled",
    "wsl.libraries-off-path",
    "wsl.kernel-too-old",
    "wsl.access-blocked",
    "wsl.linux-driver-installed",
    "wsl.host-files-incomplete",
    "wsl.no-cgroups",
    "wsl.library-too-old",
    "cloud.grid-driver-needed",
)
# Why a library of the driver is not there, where a program names it as missing.
NO_LIBRARY = (
    "driver.not-installed",
    "driver.library-missing",
    "driver.half-upgraded",
    "device.no-gpu",
    "container.no-gpus-passed",
    "container.libraries-not-passed",
    "container.no-compute-capability",
    "wsl.libraries-off-path",
    "wsl.linux-driver-installed",
    "wsl.host-files-incomplete",
)
FABRIC = ("fabric.manager-down", "fabric.manager-mismatch", "fabric.not-ready")
MASKS = (
    "visibility.cuda-hides-all",
    "visibility.cuda-out-of-range",
    "visibility.cuda-unknown-uuid",
    "visibility.cuda-duplicates",
)
# What keeps ROCm's own runtime from its GPUs; wheels, and what they were built for, have nothing to do with it.
ROCR = (
    "rocm.bad-pages",
    "rocm.dkms-build-failed",
    "rocm.gpu-without-kfd",
    "rocm.half-installed",
    "rocm.hangs",
    "rocm.kfd-failed",
    "rocm.kfd-missing",
    "rocm.kfd-no-permission",
    "rocm.kfd-refused",
    "rocm.no-topology",
    "rocm.not-driven",
    "rocm.not-loaded",
    "rocm.override-of-another-isa",
    "rocm.pcie-atomics",
    "rocm.render-node-closed",
    "rocm.reset-failed",
    "rocm.resume-failed",
    "rocm.runtime-unloadable",
    "rocm.uncorrectable-errors",
    "rocm.wsl-runtime",
)
# Of AMD's side only what stops programs: a card that is slow, hot or badly linked explains no failure.
ROCM = (
    *ROCR,
    "rocm.gfx-not-in-wheel",
    "rocm.library-missing",
    "rocm.rocminfo-fails",
    "rocm.rocminfo-hangs",
    "rocm.rocminfo-without-gpu",
    "rocm.xnack-without-kernels",
)
# What is below every CUDA program; AMD's cards and ROCm next to it explain nothing there.
CUDA_SYSTEM = (
    "device.*",
    "driver.*",
    "wsl.*",
    "container.*",
    "windows.adapter-stopped",
    "windows.driver-missing",
    "fabric.*",
    "mig.*",
    "visibility.*",
    "cluster.job-without-gpu",
    "cluster.node-without-gpu",
    "cloud.instance-without-gpu",
    "cloud.notebook-without-gpu",
    "cloud.grid-driver-needed",
    # Of the variables only those that stop programs; one that slows them down explains no failure.
    "environment.allocator-settings",
    "environment.code-overridden",
    "environment.jax-platforms",
    "environment.xla-flags-unknown",
)
# What is below every framework: where it fails, a framework can only repeat it in its own words.
SYSTEM = (*CUDA_SYSTEM, *ROCM)
# What is below every framework of one environment. NumPy's release keeps programs from starting, and does not change
# what a framework was built for, so it is named by itself.
ENVIRONMENT = ("python.*", "python.numpy-2", "libraries.*")
