"""The commands of a fix, for this distribution, this installer and this GPU."""

from gpudoctor.tasks import query

NVIDIA_SMI = query("nvidia-smi")  # the proof that a driver works
