"""PyTorch hangs on import or when it asks for GPUs."""

from gpudoctor.checks.pytorch import PYTORCH
from gpudoctor.families import starting

import_hangs = starting.import_hangs(PYTORCH, __name__, validated_on=("facts 2026-11",))
