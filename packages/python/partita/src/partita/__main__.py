"""Runs the program: `python -m partita`."""

import os
import sys

from ._program import find_program

if __name__ == "__main__":
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])
