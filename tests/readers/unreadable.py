"""A folder that cannot be read, also for the superuser, who may read everything."""

import os
from contextlib import contextmanager
from unittest import mock


@contextmanager
def unreadable(folder):
    scandir = os.scandir

    def refuse(path="."):
        if not isinstance(path, int) and os.fspath(path) == os.fspath(folder):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    with mock.patch("os.scandir", refuse):
        yield
