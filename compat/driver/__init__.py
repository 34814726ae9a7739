"""Shared by replay, cases and examples: exact HTTP, signatures, server processes, batch texts.

Only the standard library is used, so that the replay runs on a bare Python.
"""
