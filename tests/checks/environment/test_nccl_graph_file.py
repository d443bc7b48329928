"""A graph of NCCL with more GPUs than there are, and the files that set it."""

import pytest

from gpudoctor.checks.environment.nccl_graph_file import nccl_graph_file
from gpudoctor.facts import Facts, NcclSetting
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.host.nccl import settings
from gpudoctor.recorded_machine import RecordedMachine
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.environments import commands

XML = "/opt/microsoft/ncv4/graph.xml"
GRAPH = '<graphs version="1">\n<graph id="0">\n<channel>\n' + "".join(
    f'<net dev="0"/><gpu dev="{n}"/>\n' for n in (0, 1, 2, 3, 0)
)


def graph(gpus: Maybe[int | None], file: str | None = "/etc/nccl.conf") -> NcclSetting:
    return NcclSetting(name="NCCL_GRAPH_FILE", value=XML, file=file, gpus=gpus)


def having(count: int, *settings: NcclSetting) -> Facts:
    return change(nvidia_host(count), "host.nccl_settings", settings)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (having(2), "pass"),
        (having(4, graph(4)), "pass"),
        (having(2, graph(4)), "problem"),
        (having(2, graph(None)), "pass"),  # no graph
        (having(2, graph(Unknown("closed"))), "unknown"),
        (having(1, NcclSetting(name="NCCL_DEBUG", value="INFO", file="/etc/nccl.conf")), "pass"),
        (change(plain_host(), "host.nccl_settings", (graph(4),)), "pass"),
    ],
)
def test_more_gpus_than_there_are(facts: Facts, verdict: str) -> None:
    assert ask(nccl_graph_file, facts)[0][0] == verdict


def test_what_is_said_and_typed() -> None:
    topo = NcclSetting(name="NCCL_TOPO_FILE", value="/opt/microsoft/ncv4/topo.xml", file="/etc/nccl.conf")
    facts = having(1, graph(4), topo)
    expected = (
        f"/etc/nccl.conf sets NCCL_GRAPH_FILE to {XML}, with channels between 4 GPUs, but programs see 1: NCCL fails "
        "when it starts."
    )
    assert ask(nccl_graph_file, facts) == [("problem", expected)]
    typed = commands(nccl_graph_file, facts)
    assert "sudo sed -i -e s/^NCCL_GRAPH_FILE=/#&/ /etc/nccl.conf" in typed.replace("'", "")
    assert "NCCL_TOPO_FILE, which" in typed
    assert "unset NCCL_GRAPH_FILE" in commands(nccl_graph_file, having(1, graph(4, None)))


def test_the_files_are_read_as_nccl_reads_them() -> None:
    files = {
        "/home/u/.nccl.conf": "# mine\n#NCCL_NET=IB\nNCCL_ALGO = Ring\nNCCL_DEBUG=WARN\n",
        "/etc/nccl.conf": f"NCCL_DEBUG=INFO\nNCCL_GRAPH_FILE={XML}\nNCCL_IB_DISABLE=1\n",
        XML: GRAPH,
    }
    machine = RecordedMachine(files=files, env={"HOME": "/home/u", "NCCL_IB_DISABLE": "0"})
    debug = NcclSetting(name="NCCL_DEBUG", value="WARN", file="/home/u/.nccl.conf")
    assert settings(machine) == (debug, graph(4))
    named = RecordedMachine(files=files, env={"HOME": "/home/u", "NCCL_GRAPH_FILE": "/x.xml"})
    found = next(one for one in settings(named) if one.name == "NCCL_GRAPH_FILE")
    assert found == NcclSetting(name="NCCL_GRAPH_FILE", value="/x.xml", file=None)
