"""The toolkit of a node is too old to read the configuration of containerd 2."""

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.cluster.runtime_not_configured import runtime_not_configured
from gpudoctor.facts import Facts
from gpudoctor.facts.cluster import IgnoredDropIn
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host
from tests.checks.cluster.test_cluster import node

WHY = Unknown("not to be seen")
LOG = 'level=fatal msg="Error: unable to load config: unsupported config version: 3"'
OPERATOR = "/usr/local/nvidia/toolkit/nvidia-ctk"
DROP_IN = IgnoredDropIn(path="/etc/containerd/config.d/99-nvidia.toml")


def of(written: int | None = 3, log: object = None, path: str = "/usr/bin/nvidia-ctk", **containers: object) -> Facts:
    """A node by the version of containerd's configuration and the log of the toolkit's pod."""
    facts = node(nvidia_host(), **({"toolkit": "1.14.6", "toolkit_path": path} | containers))
    return change(change(facts, "cluster.config_version", written), "cluster.toolkit_refused", log)


def too_old(release: str = " 1.14.6", version: str = " (version = 3)") -> list[tuple[str, str]]:
    message = (
        f"Kubernetes runs pods on this node, and the NVIDIA Container Toolkit{release} is too old to read containerd's "
        f"configuration{version}, which needs 1.17.4 or newer: it cannot add NVIDIA's runtime to it, and no pod gets "
        "the GPU."
    )
    return [("problem", message)]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (of(), too_old()),
        (of(log=WHY), too_old()),
        (of(4), too_old(version=" (version = 4)")),
        (of(path=OPERATOR), too_old()),
        (of(toolkit="1.17.3"), too_old(" 1.17.3")),
        # The log decides: the operator's toolkit may be another than the package's, or tell no release.
        (of(log=LOG), too_old("")),
        (of(log=LOG, path=OPERATOR), too_old()),
        (of(log=LOG, path=OPERATOR, toolkit="installed"), too_old("")),
        (of(log=LOG, toolkit=WHY), too_old("")),
        (of(log=LOG, toolkit=None), too_old("")),
        (of(None, log=LOG, toolkit="1.19.0"), too_old("", "")),
        (of(log=LOG, cdi=("/var/run/cdi/management.nvidia.com-gpu.yaml",)), too_old("")),
        (of(cdi=("/etc/cdi/nvidia.yaml",)), [("pass", "")]),
        (change(of(), "cluster.runtime_configured", True), [("pass", "")]),
    ],
)
def test_the_toolkit_cannot_read_the_configuration(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(runtime_not_configured, facts) == verdict
    severities = [one.severity for one in run(runtime_not_configured, facts) if one.problem]
    assert severities == [Severity.ERROR] * (verdict[0][0] == "problem")


@pytest.mark.parametrize(
    "facts",
    [
        of(toolkit="1.17.4"),
        of(toolkit="1.17.4-rc.1"),
        of(toolkit="1.19.0"),
        of(2),
        of(None),
        of(toolkit="installed"),
        of(toolkit="installed", log=WHY),
    ],
)
def test_another_toolkit_only_has_to_be_configured(facts: Facts) -> None:
    (verdict,) = run(runtime_not_configured, facts)
    assert "too old" not in verdict.message
    assert tuple(c.removeprefix("sudo ") for c in verdict.fixes[0].commands) == (
        "nvidia-ctk runtime configure --runtime=containerd --set-as-default",
        "systemctl restart containerd",
    )


def test_a_drop_in_that_is_not_read_names_the_runtime_already() -> None:
    facts = change(of(None, toolkit="1.18.0"), "cluster.ignored_drop_ins", (DROP_IN,))
    assert "does not read that file" in ask(runtime_not_configured, facts)[0][1]
    assert ask(runtime_not_configured, change(facts, "cluster.toolkit_refused", LOG)) == too_old("", "")


@pytest.mark.parametrize("facts", [of(path=OPERATOR), of(log=LOG), change(of(log=LOG), "cluster.own_runtime", "k0s")])
def test_the_operators_toolkit_comes_from_its_values(facts: Facts) -> None:
    (fix,) = run(runtime_not_configured, facts)[0].fixes
    assert "Remove toolkit.version from the GPU Operator's values" in fix.message
    assert fix.commands == (
        "helm get values gpu-operator -n gpu-operator -o yaml > values.yaml",
        "Delete the line `version:` under `toolkit:` from values.yaml.",
        "helm upgrade gpu-operator nvidia/gpu-operator -n gpu-operator --version CHART -f values.yaml",
    )


@pytest.mark.parametrize(
    ("system", "command"),
    [("debian", "apt-get install nvidia-container-toolkit"), ("fedora", "dnf install nvidia-container-toolkit")],
)
def test_a_package_is_upgraded_and_then_configures_containerd(system: str, command: str) -> None:
    facts = change(change(of(), "host.distribution.id", system), "host.distribution.like", ())
    (fix,) = run(runtime_not_configured, facts)[0].fixes
    commands = [one.removeprefix("sudo ") for one in fix.commands]
    assert command in commands
    assert commands[-2:] == [
        "nvidia-ctk runtime configure --runtime=containerd --set-as-default",
        "systemctl restart containerd",
    ]
