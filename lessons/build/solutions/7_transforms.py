# %% innermost
def innermost(args):
    """Return the layer that began last among those of the boxes, or None."""
    return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)


# %% lift
def lift(layer, a, rank):
    """Return what is in a box of the layer, with ones behind the batch dimension up to a rank."""
    if not isinstance(a, Box) or a.layer is not layer:
        return a
    size, *shape = shape_of(a.value)
    return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))


# %% vmap
def vmap(f):
    """Return a function that applies f to each example of a batch, in one call."""

    def batched(xs):
        layer = Batch()
        out = f(Box(xs, layer))
        if isinstance(out, Box) and out.layer is layer:
            return out.value
        return run(Expand, out, (shape_of(xs)[0], *shape_of(out)))

    return batched


# %% grad
def grad(f):
    """Return a function that computes the gradient of f."""

    def gradient(x):
        layer = Grad()
        leaf = Box(x, layer)
        gs = {f(leaf): Value(1.0)}
        for node in reversed(layer.tape):
            if node in gs:
                for parent, part in layer.parts(node, gs[node]):
                    gs[parent] = gs[parent] + part if parent in gs else part
        return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))

    return gradient
