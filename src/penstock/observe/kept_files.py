"""A few kernel files that are read in every pass. Each is looked up once among its possible places."""

from __future__ import annotations

from penstock.observe.kernelfs import KernelFile, KernelFs
from penstock.snapshot import Problem


class KeptFiles:
    """Files by a name of the reader's choice.

    A text is read as a whole, or an OSError is raised that names the file.
    """

    def __init__(self, fs: KernelFs) -> None:
        self._fs = fs
        self._files: dict[str, KernelFile] = {}

    def text(self, name: str, *places: str) -> str:
        """The text of the first place that exists."""
        file = self._files.get(name)
        if file is None:
            found = self._fs.find(places)
            if isinstance(found, OSError):
                raise found
            file = self._files[name] = found
        return file.read().decode("utf-8", "replace")

    def place(self, name: str) -> str:
        """Where a file was found, relative to the root."""
        return self._fs.unrooted(self._files[name].path).lstrip("/")

    def close(self) -> None:
        """Release all descriptors. The next read finds the files again."""
        for file in self._files.values():
            file.close()
        self._files.clear()


def unread(fs: KernelFs, source: str, error: OSError) -> Problem:
    """What could not be read, with the path on the client itself."""
    place = fs.unrooted(str(error.filename or "")).lstrip("/")
    return Problem(source, f"/{place}: {error.strerror}")
