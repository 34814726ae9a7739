"""Azure Table and Queue storage that you run yourself."""

from ._program import find_program
from ._server import Server, start

__all__ = ["Server", "find_program", "start"]
