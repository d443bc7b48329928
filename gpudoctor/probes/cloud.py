"""The cloud and the instance type, from the firmware, from what cloud-init wrote down, and from the environment."""

import re

from gpudoctor.facts import Cloud
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.host.platform import DMI

# cloud-init keeps there, for all to read, what the cloud's metadata service told at boot; secrets are taken out.
INSTANCE_DATA = "/run/cloud-init/instance-data.json"
# Azure's machines carry this asset tag, which nobody else's Hyper-V guests do
# (https://github.com/canonical/cloud-init/blob/main/tools/ds-identify).
_AZURE = "7783-7084-3265-9085-8269-3286-77"
# What Nitro instances of EC2 call themselves as a product: the instance type.
_EC2 = pattern(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
# A variable that the service sets in all of its notebooks.
_NOTEBOOKS = (
    ("colab", "COLAB_RELEASE_TAG"),
    ("colab", "COLAB_GPU"),
    ("kaggle", "KAGGLE_KERNEL_RUN_TYPE"),
    ("databricks", "DATABRICKS_RUNTIME_VERSION"),
)


def probe(machine: Machine) -> Cloud:
    """Read the firmware's fields, and cloud-init's file where those do not tell the instance type."""
    provider = _provider(machine)
    return Cloud(
        provider=provider,
        instance=_instance(machine, provider) if provider else None,
        notebook=next((name for name, variable in _NOTEBOOKS if variable in machine.env), None),
        tpu=any(name.startswith(("TPU_", "COLAB_TPU_")) for name in machine.env) or machine.exists("/dev/accel0"),
    )


def _dmi(machine: Machine, field: str) -> str:
    return machine.line(f"{DMI}/{field}") or ""


def _provider(machine: Machine) -> str | None:
    vendor, tag = _dmi(machine, "sys_vendor"), _dmi(machine, "chassis_asset_tag")
    if vendor == "Amazon EC2" or _dmi(machine, "bios_version").endswith(".amazon") or tag == "Amazon EC2":
        return "aws"
    if vendor == "Google" and _dmi(machine, "product_name") == "Google Compute Engine":
        return "gcp"
    if tag == _AZURE:
        return "azure"
    return "oracle" if tag == "OracleCloud.com" else None


def _instance(machine: Machine, provider: str) -> Maybe[str | None]:
    product = _dmi(machine, "product_name")
    if provider == "aws" and _EC2.fullmatch(product):
        return product
    try:
        text = machine.text(INSTANCE_DATA, 4 << 20)
    except OSError as error:
        return Unknown(f"{INSTANCE_DATA}: {error.strerror}")
    # Searched and not parsed: the file has hundreds of keys, and each cloud puts this one elsewhere.
    name = {"aws": r"instance[_-]type|instanceType", "azure": "vmSize", "oracle": "shape"}.get(provider)
    found = re.search(rf'"(?:{name})"\s*:\s*"([\w.-]+)"', text) if name else None
    return found[1] if found else Unknown(f"{INSTANCE_DATA} names no instance type")
