"""The targets of checks by function, and what each finds nothing without; made by docs/generate.py."""

# ruff: noqa: E501

TARGETS = {
    "queries.amd_boards:boards": (
        "rocm.bad-pages rocm.held-slow rocm.narrow-link rocm.reserved-memory-unused rocm.uncorrectable-errors"
    ),
    "queries.amd_boards:boards_of_programs": "rocm.firmware-regression",
    "queries.amd_boards:logged_boards": "rocm.hangs rocm.page-faults rocm.reset-failed",
    "queries.amd_driver:amd_driver": "rocm.dkms-build-failed rocm.half-installed",
    "queries.apple:mac_jaxes": "apple.jax-metal-mismatch",
    "queries.apple:mac_pythons": "apple.rosetta-python",
    "queries.apple:mac_tensorflows": "apple.tensorflow-metal-mismatch apple.tensorflow-metal-missing",
    "queries.apple:mac_torches": "apple.memory-limit-off apple.mps-not-built apple.mps-unavailable",
    "queries.cards:alike_cards": (
        "driver.gpu-dropped driver.gpu-too-new driver.open-module-unsupported driver.proprietary-module-unsupported "
        "driver.vgpu-driver-needed"
    ),
    "queries.cards:nvidia_addresses": (
        "device.ecc-corrected-often device.ecc-uncorrected device.fallen-off-the-bus device.gsp-failed "
        "device.gsp-firmware-missing device.init-failed device.needs-reset device.no-interrupts "
        "device.power-cable-missing device.program-faults device.removal-waits device.retired-pages-pending "
        "device.row-remap-failed device.row-remap-pending device.vgpu-host-mismatch device.xid-driver "
        "device.xid-hardware"
    ),
    "queries.clouds:cpu_instances": "cloud.instance-without-gpu",
    "queries.clouds:gpu_instances": "cloud.fewer-gpus",
    "queries.clouds:notebooks": "cloud.notebook-without-gpu",
    "queries.clouds:virtual_gpus": "cloud.grid-driver-needed",
    "queries.clusters:importing_newer": "cluster.drop-in-too-new",
    "queries.clusters:jobs": "cluster.job-without-gpu",
    "queries.clusters:kubernetes_nodes": (
        "cluster.envvar-refused cluster.plugin-without-runtime cluster.runtime-not-configured cluster.runtime-override"
    ),
    "queries.clusters:members": "cluster.node-without-gpu",
    "queries.clusters:nodes_to_be": "cluster.cri-disabled",
    "queries.clusters:slurm_nodes": "cluster.gpu-plugin-missing cluster.gres-not-declared",
    "queries.containers:container_host": (
        "container.cdi-generation-crashes container.gvisor-driver-unknown container.no-cgroups-ignored "
        "container.toolkit-broken"
    ),
    "queries.containers:docker_host": (
        "container.bpf-hardened container.docker-config-broken container.docker-snap container.no-cgroups "
        "container.rootless-needs-no-cgroups container.runtime-not-configured container.toolkit-missing "
        "container.toolkit-too-old"
    ),
    "queries.containers:nvidia_container": (
        "container.control-node-missing container.device-access-lost container.driver-version-inside "
        "container.gpu-limit-ignored container.libraries-not-passed container.no-compute-capability "
        "container.no-gpus-passed container.selinux-denied"
    ),
    "queries.containers:windows_gpu": "wsl.access-blocked wsl.host-files-incomplete wsl.library-too-old",
    "queries.driver:not_wsl": (
        "device.bar-unassigned device.nvlink-fault device.vgpu-unlicensed driver.device-nodes-closed "
        "driver.kernel-without-sva driver.library-mismatch driver.mixed-installation driver.no-devices "
        "driver.not-loaded driver.refused-by-lockdown driver.refused-by-secure-boot driver.uvm-missing "
        "driver.uvm-stale fabric.gpudirect-rdma-off fabric.manager-down fabric.manager-mismatch fabric.not-ready "
        "fabric.peermem-mismatch fabric.registration-failed fabric.switch-hot"
    ),
    "queries.driver:own_kernel": (
        "device.bar-resize-failed device.confidential-not-ready device.driver-without-gpu device.none "
        "device.switched-off device.thunderbolt-unauthorized driver.blacklisted driver.built-for-another-kernel "
        "driver.device-nodes-denied driver.device-nodes-missing driver.dkms-build-failed driver.dkms-entry-stale "
        "driver.gpus-missing driver.half-upgraded driver.headers-missing driver.hmm-without-room "
        "driver.library-missing driver.no-module-for-kernel driver.not-installed driver.realtime-kernel "
        "driver.repository-of-another-release driver.smi-missing driver.stopped-by-ibt driver.suspend-refused "
        "driver.unknown-option fabric.imex-channel-missing fabric.imex-failed fabric.subnet-manager-missing "
        "health.persistence-off"
    ),
    "queries.driver:several_gpus": (
        "environment.nccl-path-off link.peers-redirected mig.mixed-modes visibility.cuda-order-differs"
    ),
    "queries.gfx:amd_pairs": (
        "rocm.device-wheel-missing rocm.gfx-not-in-wheel rocm.rocblas-without-gfx rocm.xnack-without-kernels"
    ),
    "queries.gfx:blas_gpus": "rocm.system-rocblas-without-gfx",
    "queries.intel:cards_to_drive": "intel.not-driven",
    "queries.intel:computing_cards": "intel.hangs",
    "queries.intel:extended_torches": "intel.extension-mismatch",
    "queries.intel:intel_cards": "intel.firmware-missing intel.small-bar",
    "queries.intel:intel_computers": "intel.render-node-closed intel.runtime-regression",
    "queries.intel:openvinos": "intel.opencl-missing",
    "queries.intel:plain_torches": "intel.torch-not-for-xpu",
    "queries.intel:sycl_machines": "intel.sycl-without-level-zero",
    "queries.intel:xpu_torches": (
        "intel.fewer-gpus intel.level-zero-mismatch intel.level-zero-missing intel.no-devices-passed intel.no-gpu "
        "intel.selector-hides-all"
    ),
    "queries.llama_cpp:installed": "llamacpp.arch-missing llamacpp.cpu-build llamacpp.library-not-found",
    "queries.llama_cpp:with_vulkan": "llamacpp.vulkan-driver-missing",
    "queries.ollama:installed": (
        "ollama.backend-missing ollama.cpu-without-avx ollama.driver-too-old ollama.library-not-there "
        "ollama.service-hides-gpus ollama.vulkan-unmasked"
    ),
    "queries.ollama:on_amd": "ollama.gfx-without-kernels ollama.service-without-group",
    "queries.ollama:on_intel": "ollama.vulkan-missing",
    "queries.repositories:apt_with_rocm": "rocm.rocminfo-of-distribution",
    "queries.rocr:asked_rocr": "rocm.rocminfo-fails rocm.rocminfo-hangs rocm.rocminfo-without-gpu",
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
        "rocm.comgr-missing rocm.gpu-without-kfd rocm.gtt-above-ttm-limit rocm.hive-split rocm.iommu-translates "
        "rocm.kfd-failed rocm.kfd-missing rocm.kfd-no-permission rocm.kfd-refused rocm.no-topology rocm.not-loaded "
        "rocm.only-root-opens rocm.override-left-on rocm.override-of-another-isa rocm.partitions-differ "
        "rocm.partitions-missing rocm.pcie-atomics rocm.render-node-closed rocm.repository-of-another-release "
        "rocm.runtime-unloadable rocm.small-bar rocm.ttm-limit-not-in-effect rocm.unknown-option "
        "visibility.hip-hides-all visibility.hip-integrated-first visibility.hip-out-of-range "
        "visibility.hip-selects-integrated visibility.rocr-and-hip"
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
    "targets:jaxes": (
        "environment.jax-platforms jax.cpu-only jax.libraries-missing jax.plugin-skew jax.ptxas-too-old "
        "jax.several-plugins"
    ),
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
        "pytorch.nccl-broken-here pytorch.no-gpu pytorch.unusable-gpu rocm.fewer-gpus"
    ),
    "targets:nvidia_cards": "device.wake-failed",
    "targets:nvidia_gpus": (
        "device.ecc-change-pending device.ecc-off device.exclusive-mode device.hidden-but-sick "
        "device.inforom-corrupted device.prohibited-mode device.spare-rows-used-up device.sram-errors fabric.unhealthy "
        "health.clocks-held health.fans-stopped health.hardware-slowdown health.memory-held health.overheated "
        "health.power-brake health.power-capped health.power-limit-lowered health.spark-held-down health.stuck-process "
        "link.narrow-pcie link.nvlink-down link.nvlink-errors link.pcie-errors link.slow-pcie mig.change-pending"
    ),
    "targets:nvidia_hardware": (
        "advice.compiled-at-first-use advice.few-cpus advice.memory-taken-at-once advice.no-bfloat16 "
        "advice.small-memory cuda.c-library-too-new cuda.compiler-too-new cuda.home-stale cuda.host-compiler-missing "
        "cuda.nvcc-needs-newer-driver cuda.nvcc-without-gpu driver.nvmap-refuses-buffers "
        "health.unified-memory-exhausted mig.no-instances"
    ),
    "targets:nvidia_host": (
        "driver.glx-alternative driver.nouveau-in-the-way driver.nova-core-in-the-way driver.uptime-hang "
        "driver.vfio-in-the-way"
    ),
    "targets:nvidia_machine": (
        "device.iommu-faults driver.compat-mismatch driver.compat-unsupported driver.crashes driver.cuda-error "
        "driver.cuda-no-answer driver.library-broken driver.mps-unreachable driver.nvml-error driver.nvml-no-answer "
        "driver.stub-library environment.code-overridden visibility.cuda-duplicates visibility.cuda-hides-all "
        "visibility.cuda-misspelt visibility.cuda-out-of-range visibility.cuda-unknown-uuid"
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
        "environment.arch-list-without-gpu environment.expandable-segments environment.selected-library-missing "
        "libraries.amdsmi-mismatch libraries.oneapi-shadowed libraries.rocm-shadowed packages.bitsandbytes-no-binary "
        "packages.torchaudio-without-torchcodec packages.torchcodec-mismatch packages.torchvision-mismatch "
        "pytorch.compile-unsupported pytorch.cpu-build pytorch.nvrtc-too-old pytorch.user-without-name "
        "rocm.space-in-path"
    ),
    "targets:wsl_machine": (
        "wsl.gpu-disabled wsl.kernel-too-old wsl.libraries-off-path wsl.linux-driver-installed wsl.memory-small "
        "wsl.no-cgroups wsl.no-dxg wsl.smi-not-on-path wsl.version-1"
    ),
}
# fmt: off
# The function of the targets on which a check passes where one of the rest is missing; empty: it has none.
ONLY_WITH = {
    "container.bpf-hardened": ("queries.containers:docker_host", "containers.bpf_jit_harden"),
    "container.cdi-file-missing": ("", "queries.containers:own_engine_host", "containers.cdi_gone"),
    "container.cdi-generation-crashes": ("queries.containers:container_host", "containers.cdi_service"),
    "container.cdi-incomplete": ("", "queries.containers:engine_host", "containers.cdi_nodes"),
    "container.cdi-missing": ("", "queries.containers:engine_host", "containers.podman containers.runtime_mode=cdi containers.cdi_service"),
    "container.cdi-not-parsed": ("", "queries.containers:engine_host", "containers.podman containers.docker_cdi"),
    "container.cdi-not-read": ("", "queries.containers:engine_host", "containers.podman", "containers.cdi"),
    "container.cdi-other-major": ("", "queries.containers:engine_host", "containers.cdi_nodes"),
    "container.cdi-stale": ("", "queries.containers:engine_host", "targets:nvidia_hardware"),
    "container.cdi-without-mig": ("", "queries.containers:engine_host", "containers.cdi_nodes"),
    "container.docker-desktop-linux": ("", "queries.containers:engine_host", "containers.docker"),
    "container.gpus-without-nvidia": ("", "queries.containers:engine_host", "containers.docker"),
    "container.gvisor-driver-unknown": ("queries.containers:container_host", "containers.gvisor_drivers"),
    "container.nested-needs-no-cgroups": ("", "containers.docker", "queries.containers:nvidia_container"),
    "container.podman-too-old": ("", "queries.containers:engine_host", "containers.podman", "containers.cdi"),
    "container.rdma-not-passed": ("targets:machine", "host.environment=NCCL_IB_HCA,NCCL_IB_DISABLE,NCCL_NET,NCCL_NET_PLUGIN,FI_PROVIDER"),
    "container.requirement-unmet": ("", "queries.containers:nvidia_container queries.containers:docker_host"),
    "container.shm-small": ("targets:machine", "gpus", "host.container"),
    "cuda.compiler-missing": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=triton,pytorch-triton,triton-nightly"),
    "cuda.compiler-not-of-headers": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=nvidia-cuda-nvcc"),
    "cuda.development-files-missing": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.frameworks.name=torch"),
    "cuda.ldconfig-missing": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "host.distribution.id=nixos", "pythons.packages.name=triton,pytorch-triton"),
    "cuda.libcuda-link-missing": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=triton,pytorch-triton"),
    "cuda.nvcc-mismatch": ("targets:torches", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "cuda.nvcc-missing": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices"),
    "cuda.nvcc-too-old": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=deep-gemm,flashinfer-python,sgl-kernel,sglang-kernel"),
    "cuda.nvvm-missing": ("targets:pythons", "pythons.packages.name=numba-cuda"),
    "cuda.nvvm-newer-than-linker": ("targets:pythons", "pythons.packages.name=numba-cuda"),
    "cuda.ptx-too-new": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=numba,numba-cuda,openmm,openmm-cuda-*"),
    "cuda.python-headers-missing": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=triton,pytorch-triton,triton-nightly"),
    "cuda.triton-ptxas-too-old": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=triton,pytorch-triton,triton-nightly"),
    "cupy.arch-missing": ("targets:frameworks:cupy", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "cupy.driver-too-old": ("targets:frameworks:cupy", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "cupy.wrong-vendor": ("targets:frameworks:cupy", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.variant?"),
    "device.ecc-corrected-often": ("queries.cards:nvidia_addresses", "log.events.kind=xid"),
    "device.ecc-uncorrected": ("queries.cards:nvidia_addresses", "log.events.kind=xid gpus.ecc_uncorrected"),
    "device.fallen-off-the-bus": ("queries.cards:nvidia_addresses", "log.events.kind=xid,lost-at-probe,fallen-off-bus gpus.status=lost"),
    "device.faults-on-one-card": ("", "queries.cards:nvidia_addresses"),
    "device.gsp-failed": ("queries.cards:nvidia_addresses", "log.events.kind=xid,gsp-wpr2,gsp-refused,gsp-failed,gfw-boot"),
    "device.gsp-firmware-missing": ("queries.cards:nvidia_addresses", "log.events.kind=gsp-firmware,gsp-failed,rm-init-failed"),
    "device.init-failed": ("queries.cards:nvidia_addresses", "log.events.kind=rm-init-failed"),
    "device.no-interrupts": ("queries.cards:nvidia_addresses", "log.events.kind=no-interrupts,rm-init-failed"),
    "device.power-cable-missing": ("queries.cards:nvidia_addresses", "log.events.kind=xid,power-cables,rm-init-failed gpus.status=no-power"),
    "device.program-faults": ("queries.cards:nvidia_addresses", "log.events.kind=xid"),
    "device.removal-waits": ("queries.cards:nvidia_addresses", "log.events.kind=removal-waits"),
    "device.retired-pages-pending": ("queries.cards:nvidia_addresses", "gpus.retired_pending"),
    "device.row-remap-failed": ("queries.cards:nvidia_addresses", "log.events.kind=xid gpus.remap_failed"),
    "device.row-remap-pending": ("queries.cards:nvidia_addresses", "log.events.kind=xid gpus.remap_pending"),
    "device.unexplained-log-errors": ("", "targets:nvidia_machine targets:amd_compute pci.vendor=1002 queries.intel:intel_machine"),
    "device.vgpu-host-mismatch": ("queries.cards:nvidia_addresses", "log.events.kind=xid"),
    "device.xid-driver": ("queries.cards:nvidia_addresses", "log.events.kind=xid"),
    "device.xid-hardware": ("queries.cards:nvidia_addresses", "log.events.kind=xid"),
    "driver.kernel-without-sva": ("queries.driver:not_wsl", "nvidia.kernel.sva_missing"),
    "driver.vgpu-driver-needed": ("queries.cards:alike_cards", "log.events.kind=nvrm-unsupported"),
    "environment.allocator-settings": ("targets:torches", "host.environment=PYTORCH_CUDA_ALLOC_CONF,PYTORCH_ALLOC_CONF"),
    "environment.allocator-variable-unread": ("targets:torches", "host.environment=PYTORCH_ALLOC_CONF"),
    "environment.arch-list-without-gpu": ("targets:torches", "host.environment=TORCH_CUDA_ARCH_LIST"),
    "environment.debugging-left-on": ("", "pci.vendor=10de gpus.vendor=nvidia"),
    "environment.expandable-segments": ("targets:torches", "host.environment=PYTORCH_CUDA_ALLOC_CONF,PYTORCH_ALLOC_CONF gpus pci.role=gpu nvidia.cuda.devices"),
    "environment.interface-missing": ("targets:machine", "gpus", "host.environment=NCCL_SOCKET_IFNAME,GLOO_SOCKET_IFNAME,TP_SOCKET_IFNAME,NCCL_IB_HCA host.nccl_settings"),
    "environment.nccl-graph-file": ("targets:machine", "gpus", "host.nccl_settings"),
    "environment.nccl-plugin-off-path": ("targets:machine", "gpus", "host.plugin_off_path"),
    "environment.ninja-not-on-path": ("targets:pythons", "pythons.own_ninja gpus pythons.packages?"),
    "environment.path-missing": ("targets:machine", "gpus", "toolkits.named_paths"),
    "environment.selected-library-missing": ("targets:torches", "host.environment=BNB_CUDA_VERSION,BNB_ROCM_VERSION pythons.packages?"),
    "environment.variable-refused": ("targets:pythons", "host.environment=ALL_PROXY,CUDA_VISIBLE_DEVICES,DS_ACCELERATOR,HF_HUB_ENABLE_HF_TRANSFER,MPLBACKEND,ROCR_VISIBLE_DEVICES,TORCH_CUDA_ARCH_LIST,VLLM_FLASH_ATTN_VERSION,VLLM_PORT,XLA_PYTHON_CLIENT_ALLOCATOR,all_proxy pythons.packages?", "pythons.packages.name=deepspeed,flashinfer-python,httpx,huggingface-hub,jaxlib,matplotlib,ray,vllm"),
    "environment.variable-unread": ("targets:pythons", "host.environment=VLLM_ATTENTION_BACKEND,VLLM_DISABLE_FLASHINFER_PREFILL,VLLM_FLASH_ATTN_VERSION,VLLM_USE_V1 pythons.packages?"),
    "fabric.gpudirect-rdma-off": ("queries.driver:not_wsl", "host.rdma_devices"),
    "host.address-space-limit": ("targets:machine", "gpus", "host.address_space"),
    "host.cache-noexec": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=triton,pytorch-triton,triton-nightly", "host.directories.executable=False"),
    "host.disk-full": ("targets:machine", "gpus"),
    "host.far-cpus": ("targets:machine", "gpus pci.role=gpu nvidia.cuda.devices"),
    "host.gpu-driver-oops": ("", "gpus targets:nvidia_machine"),
    "host.memlock-small": ("targets:machine", "gpus", "host.rdma"),
    "host.memory-limit": ("targets:machine", "gpus", "host.memory_limit host.memory_kills"),
    "host.numa-balancing": ("targets:machine", "gpus.vendor=amd host.platform=grace"),
    "host.out-of-memory-kills": ("targets:machine", "gpus", "log.events.kind=oom-kill"),
    "host.rdma-library-missing": ("targets:machine", "gpus", "host.rdma"),
    "host.shm-full": ("targets:machine", "gpus"),
    "host.shm-not-writable": ("targets:machine", "gpus"),
    "host.shm-small": ("targets:machine", "gpus"),
    "jax.arch-missing": ("targets:frameworks:jax", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "jax.driver-too-old": ("targets:frameworks:jax", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "libraries.amdsmi-mismatch": ("targets:torches", "pythons.packages.name=amdsmi"),
    "libraries.cudnn-pin-broken": ("targets:pythons", "pythons.unmet"),
    "libraries.cudnn-without-gpu": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices"),
    "libraries.mixed-cuda-majors": ("targets:pythons", "pythons.frameworks.cuda"),
    "libraries.oneapi-shadowed": ("targets:torches", "pythons.frameworks.needs.how=LD_LIBRARY_PATH"),
    "libraries.overlapping-wheels": ("targets:pythons", "pythons.overlaps"),
    "libraries.pin-broken": ("targets:pythons", "pythons.unmet"),
    "libraries.rocm-shadowed": ("targets:torches", "pythons.frameworks.hip"),
    "libraries.shadowed-by-path": ("targets:pythons", "pythons.frameworks.needs.how=LD_LIBRARY_PATH"),
    "libraries.system-cudnn-mixed": ("targets:pythons", "pythons.frameworks.needs.wheel"),
    "libraries.two-cuda-runtimes": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=transformer-engine"),
    "libraries.version-not-found": ("targets:pythons", "pythons.extensions pythons.imports pythons.frameworks.live.import_error pythons.frameworks.live.stderr"),
    "libraries.wheel-incomplete": ("targets:pythons", "pythons.packages.cut pythons.packages.missing"),
    "libraries.wheel-missing": ("targets:pythons", "pythons.unmet"),
    "ollama.backend-missing": ("queries.ollama:installed", "ollama.program"),
    "ollama.cpu-without-avx": ("queries.ollama:installed", "ollama.program"),
    "ollama.driver-too-old": ("queries.ollama:installed", "ollama.program"),
    "ollama.gfx-without-kernels": ("queries.ollama:on_amd", "ollama.program"),
    "ollama.library-not-there": ("queries.ollama:installed", "ollama.program"),
    "ollama.service-hides-gpus": ("queries.ollama:installed", "ollama.program"),
    "ollama.service-without-group": ("queries.ollama:on_amd", "ollama.program"),
    "ollama.vulkan-missing": ("queries.ollama:on_intel", "ollama.program"),
    "ollama.vulkan-unmasked": ("queries.ollama:installed", "ollama.program"),
    "onnxruntime.arch-missing": ("targets:frameworks:onnxruntime", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "onnxruntime.driver-too-old": ("targets:frameworks:onnxruntime", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "packages.another-project": ("targets:pythons", "pythons.packages.name=apex,clip,flash-attention,nunchaku,whisper"),
    "packages.arch-missing": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices pythons.code?"),
    "packages.backend-switch-unset": ("targets:pythons", "pythons.imports"),
    "packages.bitsandbytes-no-binary": ("targets:torches", "pythons.packages.name=bitsandbytes"),
    "packages.build-lock-left": ("targets:pythons", "pythons.kernels"),
    "packages.builds-overwrite": ("targets:pythons", "pythons.overlaps pythons.packages?"),
    "packages.built-without-cuda": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.packages.name=apex,auto-gptq,detectron2,groundingdino,mmcv,mmcv-full,pytorch3d,torch-cluster,torch-scatter,torch-sparse,torch-spline-conv"),
    "packages.cached-kernel-broken": ("targets:pythons", "pythons.kernels"),
    "packages.cpu-package": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices pythons.packages?"),
    "packages.ctranslate2-cudnn": ("targets:pythons", "pythons.packages.name=ctranslate2"),
    "packages.driver-too-new": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices pythons.packages.name=cuda-bindings,numba,numba-cuda"),
    "packages.driver-too-old": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices pythons.packages?"),
    "packages.extension-abi": ("targets:pythons", "pythons.extensions pythons.imports"),
    "packages.files-mixed": ("targets:pythons", "pythons.mixed"),
    "packages.gpu-too-old": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices pythons.packages?"),
    "packages.gpu-unknown": ("targets:pythons", "gpus pci.role=gpu nvidia.cuda.devices pythons.packages?"),
    "packages.import-fails": ("targets:pythons", "pythons.imports"),
    "packages.import-hangs": ("targets:pythons", "pythons.imports"),
    "packages.keras-3-for-transformers": ("targets:pythons", "pythons.packages.name=transformers"),
    "packages.keras-backend-cpu": ("targets:pythons", "pythons.packages.name=keras,keras-nightly"),
    "packages.keras-backend-missing": ("targets:pythons", "pythons.packages.name=keras,keras-nightly"),
    "packages.library-missing": ("targets:pythons", "pythons.extensions pythons.imports"),
    "packages.llama-cpp-cpu": ("targets:pythons", "pythons.packages.name=llama-cpp-python"),
    "packages.mixed-releases": ("targets:pythons", "pythons.packages.name=cudf-cu*,cudf-polars-cu*,cugraph-cu*,cuml-cu*,cuspatial-cu*,cuvs-cu*,cuxfilter-cu*,dask-cudf-cu*,flashinfer-cubin,flashinfer-jit-cache,flashinfer-python,libcudf-cu*,libcugraph-cu*,libcuml-cu*,libcuspatial-cu*,libcuvs-cu*,libraft-cu*,librmm-cu*,pylibcudf-cu*,pylibcugraph-cu*,pylibraft-cu*,raft-dask-cu*,rmm-cu*,rocm,rocm-sdk-core,rocm-sdk-devel,rocm-sdk-device-*,rocm-sdk-libraries*,transformer-engine,transformer-engine-cu12,transformer-engine-cu13,transformer-engine-jax,transformer-engine-torch"),
    "packages.module-removed": ("targets:pythons", "pythons.imports pythons.packages?"),
    "packages.modules-overwritten": ("targets:pythons", "pythons.overwritten"),
    "packages.part-missing": ("targets:pythons", "pythons.packages.name=numba-cuda,openmm,transformer-engine"),
    "packages.program-missing": ("targets:pythons", "pythons.imports"),
    "packages.torchaudio-without-torchcodec": ("targets:torches", "pythons.packages.name=torchaudio"),
    "packages.torchcodec-mismatch": ("targets:torches", "pythons.packages.name=torchcodec"),
    "packages.torchvision-mismatch": ("targets:torches", "pythons.packages.name=torchvision,torchaudio pythons.frameworks.version?"),
    "packages.triton-mismatch": ("targets:pythons", "pythons.unmet"),
    "packages.undeclared-requirement": ("targets:pythons", "pythons.packages.name=autoawq,comfy-kitchen,cudf-cu12,cuml-cu*,diffusers,fla-core,flash-linear-attention,flashinfer-python,gradio,jax,mamba-ssm,nvidia-cudnn-frontend,peft,pyannote-audio,retina-face,sglang,tensorflow-addons,tilelang,torchao,transformers,triton,trl,ultralytics,vllm,wandb,xformers,xgboost"),
    "packages.wrong-vendor": ("targets:pythons", "pythons.frameworks.variant=cuda,rocm,xpu pythons.packages?"),
    "python.bits-32": ("targets:pythons", "pythons.bits=32"),
    "python.checkout-gone": ("targets:pythons", "pythons.lost_checkouts"),
    "python.conda-and-pip": ("targets:pythons", "pythons.conda pythons.packages?"),
    "python.environment-moved": ("targets:pythons", "pythons.own_pip pythons.kind?"),
    "python.environment-not-run": ("targets:pythons", "pythons.not_run"),
    "python.framework-elsewhere": ("targets:pythons", "pythons.elsewhere", "gpus pci.role=gpu nvidia.cuda.devices"),
    "python.half-removed": ("targets:pythons", "pythons.remnants"),
    "python.interpreter-broken": ("targets:pythons", "pythons.error"),
    "python.metadata-lost": ("targets:pythons", "pythons.packages.lost"),
    "python.notebook-kernel-elsewhere": ("targets:pythons", "pythons.notebook_kernels"),
    "python.shadowed-module": ("targets:pythons", "pythons.shadows"),
    "python.standard-library-hidden": ("targets:pythons", "pythons.shadows"),
    "python.unmet-requirement": ("targets:pythons", "pythons.unmet"),
    "python.user-site-leaks": ("targets:pythons", "pythons.shadows"),
    "pytorch.arch-missing": ("targets:frameworks:torch", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "pytorch.compile-unsupported": ("targets:torches", "gpus pci.role=gpu nvidia.cuda.devices", "pythons.frameworks.version=2.0.*,2.2.*,2.3.*,2.9.*"),
    "pytorch.cpu-build": ("targets:torches", "pythons.frameworks.variant=cpu", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.variant?"),
    "pytorch.driver-too-old": ("targets:frameworks:torch", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "pytorch.nccl-broken-here": ("targets:lives:torch", "pythons.packages.name=nvidia-nccl-cu12"),
    "pytorch.nvrtc-too-old": ("targets:torches", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda? pythons.frameworks.version?"),
    "pytorch.user-without-name": ("targets:torches", "gpus host.user.login? pythons.frameworks.version?"),
    "pytorch.wrong-vendor": ("targets:frameworks:torch", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.variant?"),
    "rocm.debugging-left-on": ("", "targets:amd_compute"),
    "rocm.driver-pair-untested": ("", "targets:amd_compute"),
    "rocm.library-missing": ("targets:frameworks", "pythons.frameworks.variant=rocm"),
    "rocm.not-driven": ("", "pci.vendor=1002"),
    "rocm.resume-failed": ("", "queries.amd_boards:boards"),
    "rocm.runtime-unloadable": ("targets:amd_compute", "amd.unloadable"),
    "rocm.space-in-path": ("targets:torches", "pythons.frameworks.variant=rocm"),
    "rocm.system-rocblas-without-gfx": ("queries.gfx:blas_gpus", "amd.blas"),
    "rocm.ttm-limit-not-in-effect": ("targets:amd_compute", "amd.ttm_asked"),
    "rocm.unknown-option": ("targets:amd_compute", "log.events.kind=unknown-parameter"),
    "rocm.wsl-runtime": ("", "host.wsl=2"),
    "tensorflow.arch-missing": ("targets:frameworks:tensorflow", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "tensorflow.driver-too-old": ("targets:frameworks:tensorflow", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.cuda?"),
    "tensorflow.wrong-vendor": ("targets:frameworks:tensorflow", "gpus pci.role=gpu nvidia.cuda.devices pythons.frameworks.variant?"),
    "wsl.no-nvidia-driver": ("", "queries.containers:windows_gpu"),
}
