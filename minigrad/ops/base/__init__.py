"""Primitive, the families of operations, the registry and the memory layouts of results: the base of every operation."""
