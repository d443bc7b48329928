"""The cloud that this machine is rented from."""

import msgspec

from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Cloud(msgspec.Struct, frozen=True, kw_only=True):
    """What firmware, cloud-init and the environment say of the cloud; no metadata service is asked."""

    provider: Maybe[str | None] = NOT  # aws, azure, gcp, oracle; None: none of these
    instance: Maybe[str | None] = NOT  # instance type: "p4d.24xlarge", "Standard_NC4as_T4_v3"
    notebook: Maybe[str | None] = NOT  # hosted notebook: colab, kaggle, databricks; None: none of these
    tpu: Maybe[bool] = NOT  # that notebook has a TPU
