"""Define what every operation is built on: Primitive, the families, the registry, and layouts of results."""
