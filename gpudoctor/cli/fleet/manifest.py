"""`gpudoctor fleet run kubernetes --print`: a manifest for those who apply it themselves."""

import argparse

from gpudoctor.cli import UsageError
from gpudoctor.cli.fleet.engine_options import chosen_options
from gpudoctor.cli.fleet.job import program_of
from gpudoctor.cli.fleet.node import limit

_OF_A_RUN = (
    "output", "rerun", "dry_run", "expect", "smoke", "quick", "json", "no_gpus", "pairs", "exclusive", "queue_timeout",
    "context", "kubeconfig",
)  # fmt: skip


def printed(arguments: argparse.Namespace) -> str:
    """The manifest, as YAML.

    Raises:
        UsageError: another engine was named, no image was, or an option has no meaning for a manifest.
    """
    from gpudoctor.fleet.runner.engine import EngineError
    from gpudoctor.fleet.runner.engines.kubernetes_manifest import manifest

    if arguments.engine != "kubernetes":
        raise UsageError(f"--print cannot be used with {arguments.engine}: only kubernetes uses manifests.")
    options = chosen_options(arguments)
    for name in _OF_A_RUN:
        if getattr(arguments, name):
            raise UsageError(f"--{name.replace('_', '-')} cannot be used with --print, which contacts no node.")
    try:
        return manifest(
            options["image"],
            program=program_of(arguments),
            namespace=options.get("namespace", ""),
            selector=_selector(arguments.nodes),
            runtime_class=options.get("runtime_class", ""),
            seconds=limit(arguments),
        )
    except EngineError as error:
        raise UsageError(str(error)) from None


def _selector(request: str) -> dict[str, str] | None:
    """The labels of the nodes, NAME=VALUE; None: those with GPUs.

    Raises:
        UsageError: it is no list of labels.
    """
    if not request:
        return None
    pairs = [one.partition("=") for one in request.split(",")]
    if not all(name and sign and value and "=" not in value and not name.endswith("!") for name, sign, value in pairs):
        raise UsageError(f"A manifest selects nodes by labels such as nvidia.com/gpu.present=true, not by {request}.")
    return {name: value for name, _, value in pairs}
