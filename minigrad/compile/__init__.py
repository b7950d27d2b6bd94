"""compile: a function as a generated program that runs without Python.

guards.py and trace.py note what a function reads and does: traced_writes.py what it writes in place, selections.py what it does
with x[mask], symbols.py and spelled.py what it makes of numbers; stand_ins.py keeps the world out.  rules.py lowers that to
ir.py (product_rules.py, row_rules.py), fuse.py puts it into loops and passes over rows, and emit/ writes the text.
specialization.py keeps a program for one kind of arguments and runs it, backward_programs.py what differentiates it,
fast_call.py writes out the call, versions.py says what several programs differ in.
"""

from .api import compile

__all__ = ["compile"]
