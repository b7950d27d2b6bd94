"""compile: turn a function into a generated program that runs without Python.

guards.py and trace.py record everything a function reads and does; traced_writes.py handles in-place writes, selections.py
x[mask], symbols.py and spelled.py arithmetic on numbers, and stand_ins.py side effects. rules.py lowers the recorded steps to
ir.py (product_rules.py, row_rules.py), fuse.py merges them into loops and passes over rows, and emit/ writes the source.
specialization.py holds and runs the program for one kind of arguments, backward_programs.py its gradients, fast_call.py
generates the code of a call, and versions.py explains how several specialisations differ.
"""

from .api import compile

__all__ = ["compile"]
