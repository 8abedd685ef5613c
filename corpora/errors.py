"""The one exception for input that the user can mend."""


class InputError(Exception):
    """Bad input: a file, an option, a spec. The command line prints it and exits with 2.

    The message is one line: where, what is wrong, what to do about it.
    """

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        parts = f"{where}: {what}" if where else what
        super().__init__(" ".join(f"{parts}; {remedy}".split() if remedy else parts.split()))
