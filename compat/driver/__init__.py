"""What replay, cases and examples share: exact HTTP, signatures, server processes, batch texts.

Only the standard library is used, so that the replay runs on a bare Python.
"""
