"""Secrets: what opens a door to somebody who reads it. They are in no output, whatever was asked for."""

from typing import TypeVar

from gpudoctor.lazy_regex import pattern
from gpudoctor.privacy.tree import strings, walk

T = TypeVar("T")
MASK = "***"
# Tokens by their known beginnings, JSON Web Tokens, conda's token in a channel's address, the password in an address,
# and long hexadecimal keys. A topic of a forum (/t/SLUG/1690) is no token, nor are bytes that a command writes out.
_SECRET = pattern(
    r"(?i:hf_)[A-Za-z0-9]{16,}|(?i:gh[opsur]_|github_pat_|sk-|xox[abprs]-|glpat-|nvapi-|pypi-|dckr_pat_|AKIA|ASIA|AIza)[A-Za-z0-9_\-]{8,}"
    r"|\beyJ[\w-]{8,1000}\.[\w-]+\.[\w-]*|(?<=/t/)[\w-]{8,}(?=/)(?!/[0-9]+(?![\w./-]))|(?<!fromhex\(\")\b[0-9a-fA-F]{32,}\b"
    r"|(?:(?<=://)|(?<=\biscsi:))[^/\s@'\"]+(?=@)"
)
# What is given to an option or a variable whose name says that it is secret.
_GIVEN = pattern(
    r"((?i:token|password|passwd|secret|api[_-]?key|access[_-]?key|[\"']auth)[\"']?\s{0,2}[=:]\s{0,2}[\"']?"
    # An option with its value behind a blank, and what HTTP's header gives.
    r"|(?i:(?<![\w-])--?[\w-]*(?:token|password|passwd|secret|api-?key|access-?key)\s+[\"']?)(?!-)"
    r"|\bsshpass\s+-p\s?[\"']?|\b(?:curl|wget)\s(?:[^\n;&|]{0,200}\s)?(?:-u|--user)[\s=][\"']?[\w.@-]+:"
    r"|(?i:authorization[\"']?:\s*[\"']?(?:bearer|basic|token)\s+))[^\s&;,'\"]{4,}"
)
# What a match holds, in small letters: the expressions take a millisecond to compile, and few texts need them.
_OF_TOKENS = "hf_ gho_ ghp_ ghs_ ghu_ ghr_ github_pat_ sk- xox glpat- nvapi- pypi- dckr_pat_ akia asia aiza eyj /t/ @"
_HEXADECIMAL = pattern(r"[0-9a-fA-F]{32}")
_OF_GIVEN = "token passw secret apikey api-key api_key accesskey access-key access_key auth sshpass curl wget"
_PRIVATE = pattern(r"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)[^-]+")


def without_secrets(text: str) -> str:
    """The text with its secrets masked."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE.sub(rf"\1{MASK}", text)
    small = text.casefold()
    if _may_be_token(text, small):
        text = _SECRET.sub(MASK, text)
    return _GIVEN.sub(rf"\1{MASK}", text) if _may_be_given(small) else text


def _may_be_token(text: str, small: str) -> bool:
    return any(part in small for part in _OF_TOKENS.split()) or bool(_HEXADECIMAL.search(text))


def _may_be_given(small: str) -> bool:
    return any(part in small for part in _OF_GIVEN.split())


def harmless(tree: T) -> T:
    """A report, or facts, without the secrets that are left out of everything."""
    text = "\n".join(strings(tree))  # most have none, which one look at all of it tells
    if not (_may_be_token(text, text.casefold()) or _may_be_given(text.casefold()) or "PRIVATE KEY" in text):
        return tree
    found: T = walk(tree, without_secrets)
    return found
