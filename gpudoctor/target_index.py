"""The targets of checks, by function; made by docs/generate.py from the checks."""

TARGETS = {
    "queries.amd_boards:boards": (
        "rocm.bad-pages rocm.firmware-regression rocm.held-slow rocm.narrow-link rocm.reserved-memory-unused "
        "rocm.uncorrectable-errors"
    ),
    "queries.amd_boards:logged_boards": "rocm.hangs rocm.page-faults rocm.reset-failed",
    "queries.apple:mac_jaxes": "apple.jax-metal-mismatch",
    "queries.apple:mac_pythons": "apple.rosetta-python",
    "queries.apple:mac_tensorflows": "apple.tensorflow-metal-mismatch apple.tensorflow-metal-missing",
    "queries.apple:mac_torches": "apple.memory-limit-off apple.mps-not-built apple.mps-unavailable",
    "queries.cards:alike_cards": (
        "driver.gpu-dropped driver.gpu-too-new driver.open-module-unsupported driver.proprietary-module-unsupported"
    ),
    "queries.cards:nvidia_addresses": (
        "device.ecc-corrected-often device.ecc-uncorrected device.fallen-off-the-bus device.gsp-failed "
        "device.gsp-firmware-missing device.init-failed device.needs-reset device.no-interrupts "
        "device.power-cable-missing device.program-faults device.retired-pages-pending device.row-remap-failed "
        "device.row-remap-pending device.vgpu-host-mismatch device.xid-driver device.xid-hardware"
    ),
    "queries.clouds:cpu_instances": "cloud.instance-without-gpu",
    "queries.clouds:gpu_instances": "cloud.fewer-gpus cloud.grid-driver-needed",
    "queries.clouds:notebooks": "cloud.notebook-without-gpu",
    "queries.clusters:jobs": "cluster.job-without-gpu",
    "queries.clusters:kubernetes_nodes": "cluster.runtime-not-configured",
    "queries.clusters:members": "cluster.node-without-gpu",
    "queries.containers:container_host": "container.no-cgroups-ignored container.toolkit-broken",
    "queries.containers:docker_host": (
        "container.docker-config-broken container.docker-snap container.no-cgroups container.rootless-needs-no-cgroups "
        "container.runtime-not-configured container.toolkit-missing container.toolkit-too-old"
    ),
    "queries.containers:nvidia_container": (
        "container.control-node-missing container.device-access-lost container.driver-version-inside "
        "container.gpu-limit-ignored container.libraries-not-passed container.no-compute-capability "
        "container.no-gpus-passed container.selinux-denied"
    ),
    "queries.containers:windows_gpu": "wsl.access-blocked wsl.host-files-incomplete wsl.library-too-old",
    "queries.driver:not_wsl": (
        "device.bar-unassigned device.nvlink-fault device.vgpu-unlicensed driver.device-nodes-closed "
        "driver.library-mismatch driver.mixed-installation driver.no-devices driver.not-loaded "
        "driver.refused-by-lockdown driver.refused-by-secure-boot driver.uvm-missing driver.uvm-stale "
        "fabric.manager-down fabric.manager-mismatch fabric.not-ready fabric.peermem-mismatch "
        "fabric.registration-failed fabric.switch-hot"
    ),
    "queries.driver:own_kernel": (
        "device.bar-resize-failed device.confidential-not-ready device.driver-without-gpu device.none "
        "device.switched-off device.thunderbolt-unauthorized driver.blacklisted driver.built-for-another-kernel "
        "driver.device-nodes-missing driver.dkms-build-failed driver.dkms-entry-stale driver.gpus-missing "
        "driver.half-upgraded driver.headers-missing driver.hmm-without-room driver.library-missing "
        "driver.no-module-for-kernel driver.not-installed driver.repository-of-another-release driver.stopped-by-ibt "
        "driver.suspend-refused driver.unknown-option fabric.imex-channel-missing fabric.imex-failed "
        "fabric.subnet-manager-missing health.persistence-off"
    ),
    "queries.driver:several_gpus": (
        "environment.nccl-path-off link.peers-redirected mig.mixed-modes visibility.cuda-order-differs"
    ),
    "queries.gfx:amd_pairs": (
        "rocm.device-wheel-missing rocm.gfx-not-in-wheel rocm.rocblas-without-gfx rocm.xnack-without-kernels"
    ),
    "queries.intel:computing_cards": "intel.hangs",
    "queries.intel:extended_torches": "intel.extension-mismatch",
    "queries.intel:intel_cards": "intel.firmware-missing intel.not-driven intel.small-bar",
    "queries.intel:intel_computers": "intel.render-node-closed intel.runtime-regression",
    "queries.intel:plain_torches": "intel.torch-not-for-xpu",
    "queries.intel:xpu_torches": (
        "intel.fewer-gpus intel.level-zero-missing intel.no-devices-passed intel.no-gpu intel.selector-hides-all"
    ),
    "queries.ollama:installed": "ollama.backend-missing ollama.cpu-without-avx",
    "queries.services:logging_services": "host.service-errors",
    "queries.smoke.peers:runs_with_peers": "smoke.slower-than-sisters",
    "queries.smoke:gpu_runs": "smoke.no-device",
    "queries.smoke:gpu_tests:transfer": "smoke.memory-not-pinned",
    "queries.smoke:smoke_gpus": (
        "smoke.busy smoke.corrected-ecc smoke.link-trained-down smoke.nvlink-errors smoke.pcie-replays smoke.throttled "
        "smoke.uncorrected-ecc"
    ),
    "queries.smoke:smoke_runs": (
        "smoke.crashes smoke.device-error smoke.fails smoke.fused-fails smoke.hangs smoke.import-fails "
        "smoke.out-of-memory"
    ),
    "queries.smoke:smoke_tests:allreduce": "smoke.wrong-sum",
    "queries.smoke:smoke_tests:bandwidth": "smoke.corrupted-memory",
    "queries.smoke:smoke_tests:matmul mnist": "smoke.tf32-in-force",
    "queries.smoke:smoke_tests:overlap": "smoke.wrong-order",
    "queries.smoke:smoke_tests:peer": "smoke.corrupted-peer",
    "queries.smoke:smoke_tests:stress": "smoke.unstable-product",
    "queries.smoke:smoke_tests:transfer": "smoke.corrupted-copy",
    "queries.windows:windows_adapters": "windows.adapter-stopped windows.driver-missing",
    "queries.windows:windows_frameworks": "windows.dll-not-loaded",
    "queries.windows:windows_pythons": "windows.long-paths-off",
    "queries.windows:windows_torches": "windows.torch-not-for-amd",
    "targets:amd_compute": (
        "rocm.comgr-missing rocm.dkms-build-failed rocm.gpu-without-kfd rocm.gtt-above-ttm-limit rocm.half-installed "
        "rocm.hive-split rocm.iommu-translates rocm.kfd-failed rocm.kfd-missing rocm.kfd-no-permission "
        "rocm.kfd-refused rocm.no-topology rocm.not-loaded rocm.only-root-opens rocm.override-left-on "
        "rocm.override-of-another-isa rocm.partitions-differ rocm.partitions-missing rocm.pcie-atomics "
        "rocm.render-node-closed rocm.repository-of-another-release rocm.small-bar visibility.hip-hides-all "
        "visibility.hip-integrated-first visibility.hip-out-of-range visibility.hip-selects-integrated "
        "visibility.rocr-and-hip"
    ),
    "targets:amd_gpus": "rocm.overheated",
    "targets:cupys": "cupy.headers-missing cupy.newer-nvrtc cupy.nvrtc-missing",
    "targets:frameworks": "rocm.library-missing",
    "targets:frameworks:cupy": (
        "cupy.arch-missing cupy.driver-too-old cupy.several-packages cupy.wrong-cuda-major cupy.wrong-vendor"
    ),
    "targets:frameworks:jax": "jax.arch-missing jax.cudnn-too-old jax.driver-too-old",
    "targets:frameworks:onnxruntime": (
        "onnxruntime.arch-missing onnxruntime.both-packages onnxruntime.driver-too-old onnxruntime.wrong-cuda-major"
    ),
    "targets:frameworks:tensorflow": (
        "tensorflow.arch-missing tensorflow.cudnn-too-old tensorflow.driver-too-old tensorflow.several-packages "
        "tensorflow.wrong-cuda-major tensorflow.wrong-vendor"
    ),
    "targets:frameworks:torch": "pytorch.arch-missing pytorch.driver-too-old pytorch.wrong-vendor",
    "targets:jaxes": "environment.jax-platforms jax.cpu-only jax.plugin-skew jax.ptxas-too-old jax.several-plugins",
    "targets:lives": "environment.xla-flags-unknown",
    "targets:lives:cupy": "cupy.crashes cupy.import-fails cupy.import-hangs cupy.no-gpu",
    "targets:lives:jax": "jax.crashes jax.import-fails jax.import-hangs jax.no-gpu",
    "targets:lives:onnxruntime": (
        "onnxruntime.crashes onnxruntime.import-fails onnxruntime.import-hangs onnxruntime.no-gpu"
    ),
    "targets:lives:tensorflow": (
        "tensorflow.crashes tensorflow.import-fails tensorflow.import-hangs tensorflow.no-gpu"
    ),
    "targets:lives:torch": (
        "pytorch.cudnn-mismatch pytorch.fewer-gpus pytorch.import-crashes pytorch.import-fails pytorch.import-hangs "
        "pytorch.no-gpu rocm.fewer-gpus"
    ),
    "targets:nvidia_cards": "device.wake-failed",
    "targets:nvidia_gpus": (
        "device.ecc-off device.exclusive-mode device.hidden-but-sick device.inforom-corrupted device.prohibited-mode "
        "device.spare-rows-used-up device.sram-errors fabric.unhealthy health.clocks-held health.fans-stopped "
        "health.hardware-slowdown health.memory-held health.overheated health.power-brake health.power-capped "
        "health.power-limit-lowered health.spark-held-down health.stuck-process link.narrow-pcie link.nvlink-down "
        "link.nvlink-errors link.pcie-errors link.slow-pcie mig.change-pending"
    ),
    "targets:nvidia_hardware": (
        "advice.compiled-at-first-use advice.few-cpus advice.memory-taken-at-once advice.no-bfloat16 "
        "advice.small-memory cuda.compiler-too-new cuda.home-stale cuda.nvcc-without-gpu driver.nvmap-refuses-buffers "
        "health.unified-memory-exhausted mig.no-instances"
    ),
    "targets:nvidia_host": (
        "driver.nouveau-in-the-way driver.nova-core-in-the-way driver.uptime-hang driver.vfio-in-the-way"
    ),
    "targets:nvidia_machine": (
        "driver.compat-mismatch driver.compat-unsupported driver.crashes driver.cuda-error driver.cuda-no-answer "
        "driver.library-broken driver.mps-unreachable driver.nvml-error driver.nvml-no-answer driver.stub-library "
        "environment.code-overridden visibility.cuda-duplicates visibility.cuda-hides-all visibility.cuda-misspelt "
        "visibility.cuda-out-of-range visibility.cuda-unknown-uuid"
    ),
    "targets:onnxruntimes": (
        "onnxruntime.cpu-package onnxruntime.libraries-not-found onnxruntime.provider-not-loadable"
    ),
    "targets:tensorflows": (
        "tensorflow.cpu-build tensorflow.legacy-keras-missing tensorflow.libdevice-missing "
        "tensorflow.libraries-missing tensorflow.libraries-not-found tensorflow.placeholder"
    ),
    "targets:torches": (
        "cuda.nvcc-mismatch environment.allocator-settings environment.allocator-variable-unread "
        "environment.arch-list-without-gpu environment.selected-library-missing libraries.rocm-shadowed "
        "packages.bitsandbytes-no-binary packages.torchcodec-mismatch packages.torchvision-mismatch pytorch.cpu-build "
        "pytorch.nvrtc-too-old rocm.space-in-path"
    ),
    "targets:wsl_machine": (
        "wsl.gpu-disabled wsl.kernel-too-old wsl.libraries-off-path wsl.linux-driver-installed wsl.memory-small "
        "wsl.no-cgroups wsl.no-dxg wsl.smi-not-on-path wsl.version-1"
    ),
}
