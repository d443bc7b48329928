"""What is kept of the variables that name a proxy."""

from gpudoctor.probes.host.environment import environment
from gpudoctor.recorded_machine import RecordedMachine


def test_of_a_proxy_only_its_kind_is_kept() -> None:
    found = environment(RecordedMachine({}, env={"ALL_PROXY": "socks5h://me:secret@10.1.2.3:1080", "all_proxy": ""}))
    assert found == {"ALL_PROXY": "socks5h://***", "all_proxy": ""}
