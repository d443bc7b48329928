"""Which variable PyTorch's allocator reads, from facts alone."""

from gpudoctor.maybe import text_of
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework

VARIABLE, NEWER = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"
# The release from which PyTorch reads the newer name for CUDA, and prefers it.
_RENAMED = (2, 10)


def allocator_variable(on: OnFramework) -> str | None:
    """The variable that this PyTorch reads, where it is set."""
    env = on.facts.host.environment
    if NEWER in env and numbers(text_of(on.framework.version))[:2] >= _RENAMED:
        return NEWER
    return VARIABLE if VARIABLE in env else None
