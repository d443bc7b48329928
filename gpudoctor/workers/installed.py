"""Says which distributions an interpreter finds: run by it, standard library only, Python 3.8 and newer.

Prints one line, MARK and a JSON object, after whatever the environment's own start-up files print.
"""

MARK = "gpudoctor-installed "


def installed():  # type: () -> list[dict[str, object]]
    """Name and version of each distribution, and where it came from where that was no index (PEP 610)."""
    import json
    from importlib.metadata import distributions

    found = {}  # type: dict[str, dict[str, object]]
    for one in distributions():
        name = one.metadata["Name"]
        if not name or name.lower() in found:  # the first one counts, as in an import
            continue
        try:
            origin = json.loads(one.read_text("direct_url.json") or "{}")
        except ValueError:
            origin = {}
        found[name.lower()] = {
            "name": name,
            "version": one.version or "",
            "url": origin.get("url") or "",
            "editable": bool((origin.get("dir_info") or {}).get("editable")),
        }
    return list(found.values())


if __name__ == "__main__":
    import json

    print("\n" + MARK + json.dumps(installed()), flush=True)
