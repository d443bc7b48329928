"""What JAX's distributions say without importing it: its plugin decides which GPUs it can use."""

import re

from gpudoctor.facts.framework import Framework
from gpudoctor.facts.python import Package, Python
from gpudoctor.knowledge import sonames
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.probes.frameworks.discovery import FoundFramework
from gpudoctor.probes.frameworks.library_search import Request, Search, dynamic_of, in_wheel, majors

_PLUGIN = pattern(r"jax-(cuda|rocm)(\d+)-plugin")
_CUDNN = pattern(r"nvidia-cudnn(?:-cu\d+)?\b.*?>=\s*([\d.]+)")


def read(_machine: Machine, python: Python, found: FoundFramework, _kernels: bool = False) -> Framework:
    """Read the distributions.

    Args:
        python: whose packages of conda are known.
        found: its place and distributions.
    """
    plugin, jaxlib = _plugin(found), found.named("jaxlib")
    cuda, hip = _release("cuda", plugin, jaxlib) or _cuda_of_conda(python), _release("rocm", plugin, jaxlib)
    variant = "cuda" if cuda else "rocm" if hip else "cpu"
    return Framework(
        name="jax",
        distribution=found.package.name if found.package else None,
        version=found.version,
        location=found.location,
        others=tuple((p.name, p.version) for p in found.others),
        cuda=cuda,
        hip=hip,
        variant=variant,
        archs=() if variant == "cpu" else Unknown("JAX's plugin does not list them"),
        kernels=() if variant == "cpu" else Unknown("the GPU code was not counted"),
        cudnn=_cudnn(plugin) if cuda else None,
        plugin=plugin.name if plugin else None,
        plugin_version=plugin.version if plugin else None,
        backend_version=jaxlib.version if jaxlib else None,
    )


def _plugin(found: FoundFramework) -> Package | None:
    """The newest of the installed plugins: JAX starts every one that it finds, and one is the rule."""
    plugins = [p for p in found.packages if _PLUGIN.fullmatch(p.name)]
    return max(plugins, key=lambda p: int((_PLUGIN.fullmatch(p.name) or [0, 0, 0])[2]), default=None)


def _release(platform: str, plugin: Package | None, jaxlib: Package | None) -> str | None:
    """The major in the plugin's name; up to 0.4.25 jaxlib itself came as 0.4.25+cuda12.cudnn89."""
    match = _PLUGIN.fullmatch(plugin.name) if plugin else None
    if match:
        # Of ROCm up to 6 the name has major and minor, jax-rocm60-plugin; jax-rocm7-plugin and the CUDA ones the major.
        number = "6.0" if match[1] + match[2] == "rocm60" else match[2]
        return number if match[1] == platform else None
    local = re.search(rf"\+{platform}(\d\d)", jaxlib.version) if jaxlib else None
    return local[1] if local else None


def _cuda_of_conda(python: Python) -> str | None:
    """The CUDA major of conda-forge's jaxlib, which has the plugin in it, by its build: cuda129py311h3a28f5d_200."""
    builds = (one.build for one in known_or(python.conda, None) or () if one.name == "jaxlib")
    match = re.match(r"cuda(\d\d)", next(builds, ""))
    return match[1] if match else None


def _cudnn(plugin: Package | None) -> Maybe[str | None]:
    """The lowest version that the plugin's extra `with_cuda` asks for."""
    if plugin is None:
        return Unknown("this jaxlib brings its own CUDA support and names no cuDNN")
    asked = [match[1] for line in plugin.requires if (match := _CUDNN.match(line))]
    return asked[0] if asked else _cudnn_of_release(plugin)


def _cudnn_of_release(plugin: Package) -> Maybe[str | None]:
    from gpudoctor.knowledge import jax

    name = plugin.name.split("-")[1]
    lowest = jax.lowest_cudnn(name, plugin.version) if name in ("cuda12", "cuda13") else None  # type: ignore[arg-type]
    return lowest or Unknown(f"neither the metadata of {plugin.name} nor a table of releases names a cuDNN")


def requests(search: Search, framework: Framework) -> list[Request]:
    """Newer plugins open the wheels by path before anything else; what those link to is still the loader's choice."""
    if isinstance(framework.hip, str) and isinstance(framework.plugin, str):
        part = f"jax_plugins/xla_{framework.plugin.split('-')[1]}"
        return [request for site in search.sites for request in search.of_file(f"{site}/{part}/xla_rocm_plugin.so")]
    cuda, cudnn = majors(framework)
    plugin = next((f"{s}/jax_plugins/xla_cuda{cuda}" for s in search.sites if cuda), "")
    try:
        preloads = "_load_nvidia_libraries" in search.machine.text(f"{plugin}/__init__.py")
    except OSError:
        preloads = False
    dynamic = dynamic_of(search.machine, f"{plugin}/xla_cuda_plugin.so")
    order = search.order(dynamic, plugin, also=search.wheels)
    return [
        Request(
            name,
            f"jax_plugins/xla_cuda{cuda}",
            order,
            first=in_wheel(search, name) if preloads else (),
        )
        for name in (sonames.opened("jax", cuda, cudnn or "9") if cuda else ())
    ]
