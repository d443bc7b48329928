"""What an operator expects of a machine, in files of their own: a path through the facts, and an operator."""

_LONGEST = 600  # letters of a sentence, which may quote the file


class ExpectFileError(ValueError):
    """The file cannot be used; the message is one sentence that names it, and the line where one is wrong."""

    def __init__(self, message: str) -> None:
        short = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ..."
        super().__init__(short.replace("\n", "\\n"))
