"""Apple's TensorFlow plugin is from a release that does not load with this TensorFlow."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install, uninstall, version_of
from gpudoctor.knowledge import apple
from gpudoctor.maybe import known, present
from gpudoctor.queries.apple import mac_tensorflows
from gpudoctor.targets import OnFramework
from gpudoctor.tasks import query

_NAME = "tensorflow-metal"


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    proof = query(on.python.path, "-c", "import tensorflow as tf; print(tf.config.list_physical_devices())")
    newest, first, last = apple.apple().metal.rows[0]
    pair = install(on.python, f"tensorflow=={last}.*", f"{_NAME}=={newest}.*")
    remove = Fix(
        "Remove the plugin: TensorFlow then imports, and runs on the CPU.",
        (uninstall(on.python, _NAME),), "reinstall-package",
        undo=(install(on.python, f"{_NAME}=={present(version_of(on.python, _NAME))}"),), verify=proof,
    )  # fmt: skip
    message = f"Install a matching pair: TensorFlow {first} and {_NAME} {newest} (Python 3.9 to 3.12)."
    return (remove, Fix(message, (pair,), "reinstall-package", verify=proof))


@check(
    title="tensorflow-metal does not match this TensorFlow",
    severity=Severity.ERROR,
    cause="The plugin is compiled against the C++ ABI of one TensorFlow release, and TensorFlow loads it on import: "
    "with another release the import fails with a missing symbol or library. Apple has released none since 1.2 "
    "(January 2025).",
    fixes=_fixes,
    references=(
        "https://developer.apple.com/metal/tensorflow-plugin/",
        "https://github.com/tensorflow/tensorflow/issues/84167",
        "https://github.com/tensorflow/tensorflow/pull/126380",
    ),
    targets=mac_tensorflows,
    caused_by=("python.*", "apple.rosetta-python"),
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def tensorflow_metal_mismatch(on: OnFramework) -> Problem | None:
    """According to the table they do not load together, and no import has shown otherwise."""
    own = version_of(on.python, _NAME)
    live = on.framework.live
    if own is None or (live is not None and live.available is True):
        return None
    tensorflow = known(on.framework.version)
    if tensorflow is None or apple.metal_fits(own, tensorflow) is not False:
        return None
    imported = live is not None and live.import_error is None and live.stage == "done"
    severity = Severity.WARNING if imported or live is None else None
    return Problem(
        f"{_NAME} {own} is installed with TensorFlow {tensorflow}, which it does not support.", severity=severity
    )
