"""compile: turn a function into a generated program that runs without Python.

user_code.py rewrites the source of a function so that checks.py and attribute_checks.py see each read, call and store:
allowed.py lists what may be called, guards.py compares what was read, and effects.py repeats changes of modules and
optimizers. trace.py records the operations, capture.py reads of values and tensors made of numbers; traced_writes.py handles
in-place writes, selections.py x[mask], symbols.py arithmetic on numbers. rules.py lowers the recorded steps to ir.py
(product_rules.py, row_rules.py), fuse.py merges them into loops and passes over rows, and emit/ writes the source.
specialization.py holds and runs the program for one kind of arguments, backward_programs.py its gradients, fast_call.py
generates the code of a call, and versions.py explains how several specialisations differ.
"""

from .api import compile

__all__ = ["compile"]
