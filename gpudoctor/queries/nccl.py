"""NCCL's settings, from variables of the environment or its own files."""

from gpudoctor.facts import Facts, NcclSetting


def setting(facts: Facts, name: str) -> NcclSetting | None:
    """What NCCL reads for a variable: the environment's value, or else that of ~/.nccl.conf or /etc/nccl.conf."""
    value = facts.host.environment.get(name)
    if value is not None:
        return NcclSetting(name=name, value=value, file=None)
    return next((one for one in facts.host.nccl_settings if one.name == name), None)


def where(one: NcclSetting) -> str:
    """What to say about a setting that is none of the environment's: " (in /etc/nccl.conf)"."""
    return f" (in {one.file})" if one.file else ""
