"""Finds the program that was installed with this package."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path


def find_program() -> str:
    """The path of the program: that of this installation, else `partita` in PATH.

    The variable PARTITA_PROGRAM names another one.

    Raises FileNotFoundError if there is none.
    """
    named = os.environ.get("PARTITA_PROGRAM")
    if named:
        return named
    package = Path(__file__).resolve().parent
    folders = [
        sysconfig.get_path("scripts"),
        # pip install --user
        sysconfig.get_path("scripts", scheme=_user_scheme()),
        # pip install --target, which puts scripts beside the packages
        package.parent / "bin",
        # pip install --prefix
        package.parents[3] / "bin",
    ]
    for folder in folders:
        program = Path(folder) / "partita"
        if os.access(program, os.X_OK):
            return str(program)
    found = shutil.which("partita")
    if found:
        return found
    raise FileNotFoundError(
        "the program partita was not found beside the Python package; looked in "
        + ", ".join(str(folder) for folder in folders)
        + " and PATH"
    )


def _user_scheme() -> str:
    if sys.version_info >= (3, 10):
        return sysconfig.get_preferred_scheme("user")
    return os.name + "_user"
