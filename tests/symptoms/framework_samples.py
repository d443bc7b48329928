"""More logs with their root: packages around frameworks, what is not the GPU at all, and what people type."""
# ruff: noqa: E501 - messages stand on one line, as they are printed

from tests.symptoms.samples import ARCH, TF, Sample, trace

_PASCAL = """/env/lib/python3.12/site-packages/torch/cuda/__init__.py:283: UserWarning:
    Found GPU0 NVIDIA GeForce GTX 1080 Ti which is of cuda capability 6.1.
    Minimum and Maximum cuda capability supported by this version of PyTorch is
    (7.0) - (12.0)
"""
_XFORMERS = """WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:
    PyTorch 2.0.1+cu118 with CUDA 1108 (you have 2.0.0+cpu)
    Python  3.10.11 (you have 3.10.6)
"""
_TRITON = """A matching Triton is not available, some optimizations will not be enabled.
Error caught was: No module named 'triton'
"""
_JAX = trace(
    "RuntimeError: jaxlib/cuda/versions_helpers.cc:81: operation cusparseGetProperty(MAJOR_VERSION, &major) failed: The cuSPARSE library was not found.",
    "jax_plugins/xla_cuda12/__init__.py",
)
_NO_JAXLIB = "WARNING:jax._src.xla_bridge:An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.\n"
_NOT_FOUND = "ImportError: {}: cannot open shared object file: No such file or directory"

FRAMEWORKS = [
    # -- the build that has no code for the GPU is the reason, and names the right one ----------------------
    Sample("torch-arch", _PASCAL + trace("torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device"), {"cuda-no-kernel": "follows"}),
    Sample("cuda-no-kernel", trace("RuntimeError: CUDA error: no kernel image is available for execution on the device")),
    Sample("ptx-version", "2025-01-02 jax: ptxas /tmp/tempfile-box-1, line 10; fatal   : Unsupported .version 8.5; current version is '8.2'\n"),
    Sample(
        "ptx-version",
        "numba.cuda.cudadrv.driver.LinkerError: [222] Call to cuLinkAddData results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION\n"
        "ptxas application ptx input, line 9; fatal   : Unsupported .version 8.7; current version is '8.4'\n",
        {"cuda-ptx": "follows"},
    ),
    Sample("nvcc-mismatch", "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 12.4 does not match the version torch was compiled with 12.1, unable to compile cuda/cpp extensions"),
    # -- packages around the frameworks -----------------------------------------------------------------------
    Sample("fp8-unsupported", trace("ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')", "triton/x.py")),
    Sample("vllm-bf16", trace("ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla V100-SXM2-32GB GPU has compute capability 7.0. You can use float16 instead by explicitly setting the `dtype` flag in CLI, for example: --dtype=half.", "vllm/x.py")),
    Sample("nvcc-arch", "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n" + trace("triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error", "triton/x.py"), {"triton-ptxas-error": "follows"}),
    Sample("triton-ptxas-error", "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error"),
    Sample("triton-no-driver", trace("RuntimeError: 0 active drivers ([]). There should only be one.", "triton/runtime/driver.py")),
    Sample("triton-shared-memory", trace("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.")),
    Sample("triton-cache", trace("PermissionError: [Errno 13] Permission denied: '/home/me/.triton/cache/abc'")),
    Sample("extension-nvcc", "RuntimeError: FlashAttention is only supported on CUDA 11.7 and above.  Note: make sure nvcc has a supported version by running nvcc -V."),
    Sample("compiler-killed", "c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\nninja: build stopped: subcommand failed.\n", {"wheel-failed": "follows"}),
    Sample("wheel-failed", "  ERROR: Failed building wheel for flash-attn\n"),
    Sample("ninja-missing", trace("RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)")),
    Sample("cuda-headers", "csrc/x.cpp:3:10: fatal error: cusparse.h: No such file or directory\n"),
    Sample("cudnn-header", "common/cudnn_utils.h:10:10: fatal error: cudnn.h: No such file or directory\n"),
    Sample("flash-attn-dtype", trace("RuntimeError: FlashAttention only support fp16 and bf16 data type", "flash_attn/x.py")),
    Sample("xformers-operator", trace("NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:", "xformers/ops/fmha/dispatch.py")),
    Sample("xformers", _TRITON + _XFORMERS + trace("NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:", "xformers/x.py"), {"xformers-operator": "follows", "triton-optional": "harmless"}),
    Sample("", _TRITON + trace("ModuleNotFoundError: No module named 'triton'", "xformers/__init__.py") + trace("KeyError: 'labels'"), {"triton-module": "harmless", "triton-optional": "harmless"}),
    Sample("triton-module", trace("ModuleNotFoundError: No module named 'triton'", "unsloth/x.py")),
    Sample("bnb-missing", trace("ImportError: Using `bitsandbytes` 4-bit quantization requires the latest version of bitsandbytes: `pip install -U bitsandbytes`", "transformers/x.py")),
    Sample("bnb-offload", trace("ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model.", "transformers/x.py")),
    Sample("bnb-no-gpu", trace(_NOT_FOUND.format("/env/bitsandbytes/libbitsandbytes_cuda130.so"))),
    Sample("triton-ops", trace("ModuleNotFoundError: No module named 'triton.ops'", "bitsandbytes/triton/x.py")),
    Sample("cpu-adam", trace("AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'", "deepspeed/x.py")),
    Sample("deepspeed-mpi", trace("ModuleNotFoundError: No module named 'mpi4py'", "deepspeed/comm/comm.py")),
    Sample("deepspeed-aio", " [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.\n"),
    Sample("te-library", trace("FileNotFoundError: Could not find shared object file for Transformer Engine torch lib.", "transformer_engine/x.py")),
    Sample("apex-other", trace("ImportError: cannot import name 'UnencryptedCookieSessionFactoryConfig' from 'pyramid.session' (unknown location)", "apex/__init__.py")),
    Sample("llama-cpp-library", trace("RuntimeError: Failed to load shared library '/env/lib/python3.11/site-packages/llama_cpp/lib/libllama.so': libcudart.so.12: cannot open shared object file: No such file or directory", "llama_cpp/x.py")),
    Sample("llama-cpp-cpu", "warning: not compiled with GPU offload support, --gpu-layers option will be ignored\n"),
    Sample("llama-cublas", "CMake Error at CMakeLists.txt:106 (message): LLAMA_CUBLAS is deprecated and will be removed in the future. Use GGML_CUDA instead\n"),
    Sample("cmake-cuda", "CMake Error: No CMAKE_CUDA_COMPILER could be found.\n"),
    Sample("torchcodec", trace("RuntimeError: Could not load libtorchcodec. Likely causes: 1. FFmpeg is not properly installed in your environment.", "torchcodec/x.py")),
    Sample("torchaudio-backend", trace("ImportError: TorchCodec is required for load_with_torchcodec. Please install torchcodec to use this function.", "torchaudio/x.py")),
    Sample("vllm-c", trace("ModuleNotFoundError: No module named 'vllm._C'", "vllm/x.py")),
    Sample("vllm-architecture", "ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys(['AquilaModel'])"),
    Sample("vllm-heads", trace("ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).", "vllm/x.py")),
    Sample("vllm-gpus", trace("ValueError: The number of required GPUs exceeds the total number of available GPUs in the placement group.", "vllm/x.py")),
    Sample("cuda-python-cudart", trace("ImportError: cannot import name 'cudart' from 'cuda' (unknown location)", "flashinfer/x.py")),
    Sample("removed-module", trace("ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'", "basicsr/x.py")),
    Sample("torch-damaged", trace("ModuleNotFoundError: No module named 'torch._C'", "torch/__init__.py")),
    Sample("nvrtc-builtins", "nvrtc: error: failed to open libnvrtc-builtins.so.12.8.\n  Make sure that libnvrtc-builtins.so.12.8 is installed correctly."),
    Sample("nvrtc-arch", trace("RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)", "torch/x.py")),
    Sample("torch-arch", ARCH.format(name="NVIDIA GeForce RTX 5090", sm="sm_120", list="sm_80 sm_86 sm_90") + trace("RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)", "torch/x.py"), {"nvrtc-arch": "follows"}),
    Sample("torch-wheel-library", trace(_NOT_FOUND.format("libnvshmem_host.so.3"), "torch/__init__.py")),
    Sample("trt-engine", "[TRT] [E] IRuntime::deserializeCudaEngine: Error Code 6: API Usage Error (The engine plan file is not compatible with this version of TensorRT, expecting library version 10.3)"),
    Sample("trt-cuda", "[TRT] [W] CUDA initialization failure with error: 35. Please check your CUDA installation"),
    Sample("trt-sm", "[TRT] [E] createInferBuilder: Error Code 6: API Usage Error (Target GPU SM 61 is not supported by this TensorRT release.)"),
    Sample("transformers-no-torch", "Disabling PyTorch because PyTorch >= 2.1 is required but found 1.13.1\n"),
    Sample("torch-load-26", trace("ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to upgrade torch to at least v2.6 in order to use the function.", "transformers/x.py")),
    Sample("cudnn-algorithm", trace("RuntimeError: Unable to find a valid cuDNN algorithm to run convolution", "torch/nn/x.py")),
    # -- TensorFlow, JAX, CuPy, ONNX Runtime --------------------------------------------------------------------
    Sample("jax-library", _JAX + _NO_JAXLIB, {"jax-no-plugin": "warning"}),
    Sample("jax-library", trace("RuntimeError: Unable to load cuDNN. Is it installed?", "jax_plugins/x.py")),
    Sample("tf-avx", f"{TF}F tensorflow/core/platform/cpu_feature_guard.cc:38] The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine.\n"),
    Sample("tf-blackwell", f"{TF}I tensorflow: 'cuLaunchKernel(function, gridX, gridY)' failed with 'CUDA_ERROR_INVALID_HANDLE'\n"),
    Sample("rapids-memory", trace("MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /env/include/rmm/mr/device/cuda_memory_resource.hpp:70", "cudf/x.py")),
    Sample("rapids-gpu", "UserWarning: A GPU with NVIDIA Volta™ (Compute Capability 7.0) or newer architecture is required.\n"),
    Sample("rapids-missing", trace("ModuleNotFoundError: No module named 'cudf'")),
    Sample("cuda-image", trace("cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid", "cupy/x.py")),
    Sample("ort-cuda", "[E:onnxruntime:Default, provider_bridge_ort.cc:1480 TryGetProviderInfo_CUDA] Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open shared object file: No such file or directory"),
    Sample("cudart-cu-library", "OSError: libcublasLt.so.12: cannot open shared object file: No such file or directory"),
    Sample("ort-cudnn", "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Conv node. CUDNN_FE failure 11: CUDNN_BACKEND_API_FAILED"),
    Sample("ct2-compute", trace("ValueError: Requested float16 compute type, but the target device or backend do not support efficient float16 computation.", "faster_whisper/x.py")),
    Sample("ct2-cpu", trace("ValueError: This CTranslate2 package was not compiled with CUDA support", "ctranslate2/x.py")),
    # -- what is not the GPU --------------------------------------------------------------------------------------
    Sample("hf-gated", trace("OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/meta-llama/x.", "transformers/utils/hub.py")),
    Sample("hf-missing", trace("OSError: my/modle is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'", "transformers/x.py")),
    Sample("hf-offline", "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files."),
    Sample("hf-offline", trace("requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /x (Caused by NameResolutionError\"))", "requests/adapters.py")),
    Sample("hf-rate", trace("huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/x", "huggingface_hub/x.py")),
    Sample("network", trace("urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='download.pytorch.org', port=443): Max retries exceeded with url: /models/resnet50.pth")),
    Sample("safetensors-broken", trace("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", "safetensors/torch.py")),
    Sample("safetensors-broken", trace("safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered")),
    Sample("checkpoint-broken", trace("_pickle.UnpicklingError: invalid load key, 'v'.", "torch/serialization.py")),
    Sample("weights-only", trace("_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options", "torch/serialization.py")),
    Sample("model-unknown", trace("ValueError: The checkpoint you are trying to load has model type `qwen9` but Transformers does not recognize this architecture.", "transformers/x.py")),
    Sample("tokenizer", trace("OSError: Can't load tokenizer for 'my/model'. If you were trying to load it from 'https://huggingface.co/models'", "transformers/x.py")),
    Sample("dataset", trace("RuntimeError: Dataset scripts are no longer supported, but found c4.py", "datasets/load.py")),
    Sample("json-config", trace("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "deepspeed/x.py")),
    Sample("file-missing", trace("FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'")),
    Sample("file-closed", trace("PermissionError: [Errno 13] Permission denied: '/data/checkpoints'")),
    Sample("ffmpeg", trace("FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'", "whisper/audio.py")),
    Sample("version-mismatch", trace("ImportError: cannot import name 'cached_download' from 'huggingface_hub' (/env/huggingface_hub/__init__.py)", "diffusers/x.py")),
    Sample("module-missing", trace("ModuleNotFoundError: No module named 'einops'")),
    Sample("numpy-names", trace("AttributeError: module 'numpy' has no attribute 'float'.")),
    Sample("own-devices", trace("RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)")),
    Sample("own-dtype", trace("RuntimeError: expected scalar type Half but found Float")),
    Sample("own-dtype", trace("RuntimeError: Input type (float) and bias type (c10::Half) should be the same")),
    Sample("half-on-cpu", trace("RuntimeError: \"LayerNormKernelImpl\" not implemented for 'Half'")),
    Sample("own-numpy", trace("TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")),
    Sample("meta-tensor", trace("NotImplementedError: Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty()")),
    Sample("own-autograd", trace("RuntimeError: Trying to backward through the graph a second time")),
    Sample("own-batch", trace("ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512])")),
    Sample("own-launch", trace("ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set")),
    Sample("own-main", trace("RuntimeError:\n        An attempt has been made to start a new process before the current process has finished its bootstrapping phase.")),
    Sample("onnx-version", trace("onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed: Unsupported model IR version: 11, max supported IR version: 10")),
    Sample("wandb", trace("wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])", "wandb/x.py")),
    # -- what people type -------------------------------------------------------------------------------------------
    Sample("ask-torch", "torch.cuda.is_available() returns False"),
    Sample("ask-torch", "CUDA not available"),
    Sample("ask-torch", "pytorch doesn't see my gpu"),
    Sample("ask-torch", ">>> torch.cuda.is_available()\nFalse\n"),
    Sample("ask-tensorflow", "tensorflow not using gpu"),
    Sample("ask-tensorflow", "Num GPUs Available:  0"),
    Sample("ask-jax", "jax falling back to CPU"),
    Sample("ask-onnxruntime", "onnxruntime-gpu is not using the GPU"),
    Sample("ask-llama", "ollama only uses CPU"),
    Sample("ask-cupy", "numba cannot find the GPU"),
    Sample("ask-container", "docker container can't see the GPU"),
    Sample("ask-wsl", "GPU not detected in WSL2"),
    Sample("ask-amd", "pytorch does not detect my AMD GPU"),
    Sample("ask-slow", "my GPU utilization is low"),
    Sample("ask-gpu", "GPU not detected"),
    Sample("ask-gpu", "my program doesn't use the GPU"),
]  # fmt: skip
