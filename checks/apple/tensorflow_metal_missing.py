"""TensorFlow without Apple's plugin."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install, version_of
from gpudoctor.knowledge import apple
from gpudoctor.maybe import known
from gpudoctor.queries.apple import mac_tensorflows
from gpudoctor.queries.frameworks import other_works
from gpudoctor.targets import OnFramework
from gpudoctor.tasks import query


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    newest, first, last = apple.apple().metal.rows[0]
    message = (
        f"If TensorFlow has to use the GPU: in an environment with Python 3.9 to 3.12, install TensorFlow {first} "
        f"with tensorflow-metal {newest}, Apple's last release. Keras can also use the GPU through its PyTorch "
        "backend."
    )
    pair = install(on.python, f"tensorflow=={last}.*", f"tensorflow-metal=={newest}.*")
    proof = query(on.python.path, "-c", "import tensorflow as tf; print(tf.config.list_physical_devices())")
    return (Fix(message, (pair,), "reinstall-package", verify=proof),)


@check(
    title="TensorFlow runs on the CPU: tensorflow-metal is not installed",
    severity=Severity.ADVICE,
    cause="TensorFlow's macOS wheels have no GPU support; Apple provides it in the plugin tensorflow-metal.",
    fixes=_fixes,
    references=("https://developer.apple.com/metal/tensorflow-plugin/",),
    targets=mac_tensorflows,
    caused_by=("python.*", "apple.rosetta-python"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def tensorflow_metal_missing(on: OnFramework) -> Problem | None:
    """No plugin on a Mac with an Apple GPU, where nothing else in the environment uses it."""
    known(on.python.packages)
    if version_of(on.python, "tensorflow-metal") is not None or known(on.facts.apple.silicon) is not True:
        return None
    return (
        None if other_works(on.python, on.framework) else Problem(f"{on.name} has no GPU support on macOS by itself.")
    )
