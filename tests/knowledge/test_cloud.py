"""Which GPUs a cloud's instance type has."""

import pytest

from gpudoctor.knowledge.cloud import Instance, instance, is_without_gpu


@pytest.mark.parametrize(
    ("cloud", "name", "has"),
    [
        ("aws", "p4d.24xlarge", Instance("nvidia", "A100", 8, False)),
        ("aws", "g4dn.12xlarge", Instance("nvidia", "T4", 4, False)),
        ("aws", "g4ad.16xlarge", Instance("amd", "Radeon Pro V520", 4, False)),
        ("azure", "Standard_NV72ads_A10_v5", Instance("nvidia", "A10", 2, True)),
        ("azure", "p4d.24xlarge", None),
        ("aws", "p9.48xlarge", None),
    ],
)
def test_instances(cloud: str, name: str, has: Instance | None) -> None:
    assert instance(cloud, name) == has


@pytest.mark.parametrize(
    ("cloud", "name", "without"),
    [
        ("aws", "m7i.large", True),
        ("aws", "hpc7a.96xlarge", True),
        ("aws", "u-6tb1.112xlarge", True),
        ("aws", "u7i-12tb.224xlarge", True),
        ("aws", "g6f.xlarge", False),
        ("aws", "p9.48xlarge", False),
        ("aws", "dl1.24xlarge", False),
        ("aws", "f2.48xlarge", False),
        ("aws", "vt1.3xlarge", False),
        ("azure", "Standard_D4s_v5", True),
        ("azure", "Standard_E4-2ds_v5", True),
        ("azure", "Basic_A1", True),
        ("azure", "Standard_NC6s_v3", False),
        ("azure", "Standard_NP10s", False),
        ("gcp", "n2-standard-4", False),
    ],
)
def test_names_that_tell_that_there_is_no_gpu(cloud: str, name: str, without: bool) -> None:
    assert is_without_gpu(cloud, name) is without
