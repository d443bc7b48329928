"""The frameworks and the areas of checks that there are; each is described here and nowhere else.

A new framework needs its entry here, its distributions in knowledge/wanted.toml, `probes/frameworks/<module>.py` for
what its files tell, `workers/ask_<module>.py` to ask it, and its checks. `gpudoctor setup` installs it by a
function in setup/choice.py, and smoke tests need a backend, `workers/smoke/backends/<area>.py`.
"""

from typing import Literal

import msgspec


class KnownFramework(msgspec.Struct, frozen=True):
    """One framework.

    Attributes:
        module: its import name, which names it in facts.
        area: the area of its checks; also what a user types, and its backend of the smoke tests.
        title: for people.
        library: a part of the path of a library that every import of it maps, as in its wheels for Linux.
        init: code that makes it initialize CUDA.
        proof: code that computes on the GPU, or shows that it could.
        cpu_proof: code that computes on the CPU; None: it runs on GPUs alone.
        import_order: its place among the imports; the slowest begins first, where cores are fewer than frameworks.
        smoke_order: its place among the backends of the smoke tests; None: it has none.
        counts_gpus: whether it can report how many GPUs it uses.
        aliases: what users type as well.
    """

    module: str
    area: str
    title: str
    library: str
    init: str
    proof: str
    cpu_proof: str | None
    import_order: int
    smoke_order: int | None = None
    counts_gpus: bool = True
    aliases: tuple[str, ...] = ()


# The smallest model, of one Identity node: gpudoctor.workers.ask_onnxruntime tells how it is made.
IDENTITY = (
    "08073a370a100a017812017922084964656e746974791201675a0f0a0178120a0a0808011204"
    "0a020801620f0a0179120a0a08080112040a02080142040a00100d"
)
_SESSION = f'o.InferenceSession(bytes.fromhex("{IDENTITY}"), providers={{}})'
_ON_CPU = '["CPUExecutionProvider"]'

# In the order in which they are fixed, and listed for people.
FRAMEWORKS = (
    KnownFramework(
        "torch",
        "pytorch",
        "PyTorch",
        library="/libtorch_cpu.so",
        init="import torch; torch.cuda.init()",
        # is_available() is True of a build without code for the GPU too.
        proof='import torch; print(torch.__version__, torch.ones(1, device="cuda") * 2)',
        cpu_proof="import torch; print(torch.__version__, torch.ones(2, 2) @ torch.ones(2, 2))",
        import_order=2,
        smoke_order=1,
        aliases=("torch",),
    ),
    KnownFramework(
        "tensorflow",
        "tensorflow",
        "TensorFlow",
        library="/libtensorflow_framework.so",
        init='import tensorflow as tf; tf.config.list_physical_devices("GPU")',
        proof='import tensorflow as tf; print(tf.config.list_physical_devices("GPU"))',
        cpu_proof="import tensorflow as tf; print(tf.__version__, tf.reduce_sum(tf.ones((2, 2))))",
        import_order=1,
        smoke_order=4,
        aliases=("tf",),
    ),
    KnownFramework(
        "cupy",
        "cupy",
        "CuPy",
        library="/cupy/_core/",
        init="import cupy; cupy.arange(3)",
        proof="import cupy; print(cupy.arange(3) * 2)",
        cpu_proof=None,
        import_order=5,
        smoke_order=3,
    ),
    KnownFramework(
        "jax",
        "jax",
        "JAX",
        library="/jaxlib/",
        init="import jax; jax.devices()",
        proof="import jax; print(jax.devices())",
        cpu_proof="import jax.numpy as jnp; print(jnp.ones((2, 2)).sum())",
        import_order=3,
        smoke_order=2,
    ),
    KnownFramework(
        "onnxruntime",
        "onnxruntime",
        "ONNX Runtime",
        library="/onnxruntime/capi/",
        init="import onnxruntime; onnxruntime.get_available_providers()",
        # A session, since get_available_providers() lists what was built, whether it loads or not; one whose provider
        # does not load uses the CPU and raises nothing.
        proof="import onnxruntime as o; "
        'g = [p for p in o.get_available_providers() if p.startswith(("CUDA", "MIGraphX", "ROCM"))]; '
        f"p = {_SESSION.format('g')}.get_providers(); print(p); assert p[0] in g",
        cpu_proof="import onnxruntime as o; "
        f"s = {_SESSION.format(_ON_CPU)}; print(o.__version__, s.run(None, {{'x': [2.0]}}))",
        import_order=4,
        counts_gpus=False,
        aliases=("onnx", "onnxruntime-gpu"),
    ),
)
BY_MODULE = {one.module: one for one in FRAMEWORKS}
BY_AREA = {one.area: one for one in FRAMEWORKS}
SMOKED = tuple(
    sorted((one for one in FRAMEWORKS if one.smoke_order is not None), key=lambda one: one.smoke_order or 0)
)  # those with smoke tests, in the order in which they run

# What a machine must have for the checks of an area to be about anything on it; `gpudoctor.areas` looks for it.
Condition = Literal[
    "nvidia", "windows-host", "scheduler", "cloud", "smoke-results", "intel", "macos", "windows", "ollama", "llama-cpp"
]


class Area(msgspec.Struct, frozen=True):
    """One area of checks.

    Attributes:
        name: as in the ids of its checks.
        vendor: whose hardware and software it is about; a build for another vendor's GPUs does not need it.
        linux_alone: whether it judges what Linux alone has.
        bearable: whether a machine with its warnings computes all the same.
        keeps_out: whether its failures keep programs from a GPU.
        condition: without which its checks have nothing to look at; None: they always may have.
        framework: the import name of the framework that it is about.
        without_gpu: whether its checks have something to look at on a machine without a GPU.
        on_request: whether its checks run only where somebody selects them.
    """

    name: str
    vendor: str | None = None
    linux_alone: bool = False
    bearable: bool = False
    keeps_out: bool = False
    condition: Condition | None = None
    framework: str | None = None
    without_gpu: bool = False
    on_request: bool = False


# In the order in which a machine is fixed: what stands earlier has to work first.
AREAS = (
    Area("cloud", linux_alone=True, condition="cloud", keeps_out=True),
    Area("device", vendor="nvidia", linux_alone=True, bearable=True, keeps_out=True),
    Area("cluster", linux_alone=True, condition="scheduler", keeps_out=True),
    Area("driver", vendor="nvidia", linux_alone=True, bearable=True, condition="nvidia", keeps_out=True),
    Area("wsl", linux_alone=True, condition="windows-host", without_gpu=True, keeps_out=True),
    Area("container", linux_alone=True, without_gpu=True, keeps_out=True),
    Area("rocm", vendor="amd", linux_alone=True, keeps_out=True),
    Area("intel", vendor="intel", condition="intel", keeps_out=True),
    Area("windows", condition="windows", keeps_out=True),
    Area("apple", condition="macos"),
    Area("fabric", vendor="nvidia", linux_alone=True, bearable=True, condition="nvidia", keeps_out=True),
    Area("mig", vendor="nvidia", linux_alone=True, bearable=True, condition="nvidia", keeps_out=True),
    Area("visibility"),
    Area("environment", linux_alone=True, without_gpu=True),
    Area("link", vendor="nvidia", linux_alone=True, condition="nvidia"),
    Area("health", vendor="nvidia", linux_alone=True, bearable=True, condition="nvidia"),
    Area("python", without_gpu=True),
    Area("libraries", linux_alone=True),
    Area("cuda", linux_alone=True),
    *(Area(one.area, framework=one.module) for one in FRAMEWORKS),
    Area("packages"),
    Area("ollama", linux_alone=True, condition="ollama"),
    Area("llamacpp", linux_alone=True, condition="llama-cpp"),
    Area("host", linux_alone=True, without_gpu=True),
    Area("smoke", condition="smoke-results"),
    Area("advice", linux_alone=True, condition="nvidia"),
    Area("tables"),
    Area("security", without_gpu=True, on_request=True),
)
EXPECT = "expect"  # the area of an operator's own rules, which are no checks of gpudoctor


def is_rule(id_: str) -> bool:
    """Whether an ID is of an operator's own rule: "expect.gpus-ecc"."""
    return id_.startswith(f"{EXPECT}.")
