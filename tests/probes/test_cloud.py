"""Tests of the probe of clouds."""

import pytest

from gpudoctor.facts import Cloud
from gpudoctor.maybe import Unknown
from gpudoctor.probes import cloud
from gpudoctor.recorded_machine import RecordedMachine

DMI = "/sys/class/dmi/id"
DATA = cloud.INSTANCE_DATA
XEN = {"sys_vendor": "Xen", "product_name": "HVM domU", "bios_version": "4.11.amazon"}
AZURE = {
    "sys_vendor": "Microsoft Corporation",
    "product_name": "Virtual Machine",
    "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
}
GOOGLE = {"sys_vendor": "Google", "product_name": "Google Compute Engine"}


def look(dmi: dict[str, str], data: str | None = None, env: dict[str, str] | None = None) -> Cloud:
    files = {f"{DMI}/{name}": text + "\n" for name, text in dmi.items()} | ({DATA: data} if data else {})
    return cloud.probe(RecordedMachine(files, env=env))


def test_a_machine_of_ones_own() -> None:
    seen = look({"sys_vendor": "ASUS", "product_name": "System Product Name"})
    assert (seen.provider, seen.instance, seen.notebook, seen.tpu) == (None, None, None, False)


@pytest.mark.parametrize(
    ("dmi", "data", "provider", "instance"),
    [
        ({"sys_vendor": "Amazon EC2", "product_name": "p4d.24xlarge"}, None, "aws", "p4d.24xlarge"),
        ({"sys_vendor": "Amazon EC2", "product_name": "u-6tb1.112xlarge"}, None, "aws", "u-6tb1.112xlarge"),
        (XEN, '{"ds": {"meta_data": {"instance_type": "p3.2xlarge"}}}', "aws", "p3.2xlarge"),
        (XEN, '{"ds": {"meta_data": {"instance-type": "p3.2xlarge"}}}', "aws", "p3.2xlarge"),
        (AZURE, '{"imds": {"compute": {"vmSize": "Standard_NC4as_T4_v3"}}}', "azure", "Standard_NC4as_T4_v3"),
        (AZURE, "{}", "azure", Unknown(f"{DATA} names no instance type")),
        (AZURE, None, "azure", Unknown(f"{DATA}: No such file or directory")),
        (GOOGLE, "{}", "gcp", Unknown(f"{DATA} names no instance type")),
        ({"chassis_asset_tag": "OracleCloud.com"}, '{"shape": "VM.GPU.A10.1"}', "oracle", "VM.GPU.A10.1"),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, None, None, None),
    ],
)
def test_clouds(dmi: dict[str, str], data: str | None, provider: str | None, instance: object) -> None:
    seen = look(dmi, data)
    assert (seen.provider, seen.instance) == (provider, instance)


@pytest.mark.parametrize(
    ("env", "notebook", "tpu"),
    [
        ({"COLAB_RELEASE_TAG": "release-colab_20260901", "COLAB_GPU": ""}, "colab", False),
        ({"COLAB_GPU": "", "COLAB_TPU_ADDR": "10.0.0.2:8470"}, "colab", True),
        ({"KAGGLE_KERNEL_RUN_TYPE": "Interactive"}, "kaggle", False),
        ({"KAGGLE_KERNEL_RUN_TYPE": "Batch", "TPU_NAME": "local"}, "kaggle", True),
        ({"DATABRICKS_RUNTIME_VERSION": "16.4"}, "databricks", False),
    ],
)
def test_notebooks(env: dict[str, str], notebook: str, tpu: bool) -> None:
    seen = look(GOOGLE, env=env)
    assert (seen.notebook, seen.tpu) == (notebook, tpu)
