"""From the symptom: what a log or a message says, joined to what the checks found on the machine."""

from gpudoctor.symptoms.diagnosis import attach, explained, log_of, with_shown
from gpudoctor.symptoms.log import Hit, Log, Raised
from gpudoctor.symptoms.scanner import Scanner, scan

__all__ = ["Hit", "Log", "Raised", "Scanner", "attach", "explained", "log_of", "scan", "with_shown"]
