# %% right innermost
def innermost(args):
    found = None
    for a in args:
        if isinstance(a, Box) and (found is None or a.layer.number > found.number):
            found = a.layer
    return found


# %% wrong innermost: a layer further out
# -     return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)
# +     return min((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)


# %% wrong innermost: expected None
def innermost(args):
    return Layer()


# %% wrong innermost: raises ValueError
def innermost(args):
    return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number)


# %% wrong innermost: raises AttributeError
def innermost(args):
    return max((a.layer for a in args), key=lambda layer: layer.number, default=None)


# %% wrong innermost: raises AttributeError
def innermost(args):
    return max((a.layer for a in args if isinstance(a, Value)), key=lambda layer: layer.number, default=None)


# %% wrong innermost: raises TypeError
def innermost(args):
    return max((a.layer for a in args if isinstance(a, Box)), default=None)


# %% wrong innermost: it returns the box
def innermost(args):
    return max((a for a in args if isinstance(a, Box)), key=lambda a: a.layer.number, default=None)


# %% wrong innermost: it returns a number
def innermost(args):
    return max((a.layer.number for a in args if isinstance(a, Box)), default=None)


# %% wrong innermost: a layer further out
def innermost(args):
    return next((a.layer for a in args if isinstance(a, Box)), None)


# %% wrong innermost: a layer further out
def innermost(args):
    found = [a.layer for a in args if isinstance(a, Box)]
    return found[-1] if found else None


# %% wrong innermost: None although
def innermost(args):
    max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)


# %% right lift
def lift(layer, a, rank):
    if isinstance(a, Box) and a.layer is layer:
        shape = shape_of(a)
        return run(Reshape, a.value, (*shape_of(a.value)[:1], *(1,) * (rank - len(shape)), *shape))
    return a


# %% wrong lift: before the batch dimension
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return run(Reshape, a.value, (*[1] * (rank - len(shape)), size, *shape))


# %% wrong lift: behind the example
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return run(Reshape, a.value, (size, *shape, *[1] * (rank - len(shape))))


# %% wrong lift: does not count the batch
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return run(Reshape, a.value, (size, *[1] * (rank - len(shape) - 1), *shape))


# %% wrong lift: has the shape
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return run(Reshape, a.value, (size, *[1] * rank, *shape))


# %% wrong lift: has the shape
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return a.value


# %% wrong lift: is None
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))


# %% wrong lift: still a box
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return a


# %% wrong lift: the history is lost
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return Value(a.value.value.reshape(size, *[1] * (rank - len(shape)), *shape))


# %% wrong lift: compute with operations
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     return a.value.value.reshape(size, *[1] * (rank - len(shape)), *shape)


# %% wrong lift: for a node it returns
# -     if not isinstance(a, Box) or a.layer is not layer:
# +     if not isinstance(a, Value):


# %% wrong lift: for a box of another layer
# -     if not isinstance(a, Box) or a.layer is not layer:
# +     if not isinstance(a, Box):


# %% right vmap
def vmap(f):
    def batched(xs):
        layer = Batch()
        out = f(Box(xs, layer))
        if not isinstance(out, Box) or out.layer is not layer:
            return run(Expand, out, shape_of(xs)[:1] + shape_of(out))
        return layer.inside(out)

    return batched


# %% wrong vmap: still a box
# -             return out.value
# +             return out


# %% wrong vmap: vmap(f) is None, expected a function
# -     return batched
# +     return None


# %% wrong vmap: which is no box
# -         out = f(Box(xs, layer))
# +         out = f(xs)


# %% wrong vmap: is a box of this layer, but it is repeated
# -             return out.value
# +             out.value


# %% wrong vmap: f is called 2 times
# -         out = f(Box(xs, layer))
# +         f(Box(xs, layer))
# +         out = f(Box(xs, layer))


# %% wrong vmap: a constant result
# -         return run(Expand, out, (shape_of(xs)[0], *shape_of(out)))
# +         return out


# %% wrong vmap: compute with operations
# -             return out.value
# +             return out.value.value


# %% wrong vmap: a constant result
# -         return run(Expand, out, (shape_of(xs)[0], *shape_of(out)))
# +         return run(Expand, out, (1, *shape_of(out)))


# %% wrong vmap: an inner vmap that ignores
# -         if isinstance(out, Box) and out.layer is layer:
# +         if isinstance(out, Box):


# %% wrong vmap: raises AttributeError
# -         if isinstance(out, Box) and out.layer is layer:
# +         if out.layer is layer:


# %% wrong vmap: your code raises
# -         layer = Batch()
# +         layer = Layer()


# %% right grad
def grad(f):
    def gradient(x):
        layer = Grad()
        leaf = Box(x, layer)
        out = f(leaf)
        gs = {out: Value(1.0)}
        for node in layer.tape[::-1]:
            for parent, part in layer.parts(node, gs[node]) if node in gs else ():
                gs[parent] = part + gs[parent] if parent in gs else part
        return gs.get(leaf, Value(np.zeros(shape_of(x))))

    return gradient


# %% wrong grad: used three times
# -                     gs[parent] = gs[parent] + part if parent in gs else part
# +                     gs[parent] = part


# %% wrong grad: grad(f) is None, expected a function
# -     return gradient
# +     return None


# %% wrong grad: none arrives at the box of x
# -         for node in reversed(layer.tape):
# +         for node in layer.tape:


# %% wrong grad: the gradient of total(x * 3) is 6
# -         gs = {f(leaf): Value(1.0)}
# +         gs = {f(leaf): Value(2.0)}


# %% wrong grad: KeyError
# -         return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))
# +         return gs[leaf]


# %% wrong grad: the gradient of a constant
# -         return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))
# +         return gs[leaf] if leaf in gs else Value(0.0)


# %% wrong grad: is None
# -         return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))
# +         gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))


# %% wrong grad: compute with operations
# -         return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))
# +         return gs[leaf].value if leaf in gs else np.zeros(shape_of(x))


# %% wrong grad: used three times
# -                     gs[parent] = gs[parent] + part if parent in gs else part
# +                     gs.setdefault(parent, part)


# %% wrong grad: still a box
# -         return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))
# +         return Box(gs[leaf], layer) if leaf in gs else Value(np.zeros(shape_of(x)))


# %% wrong grad: raises TypeError
# -                     gs[parent] = gs[parent] + part if parent in gs else part
# +                     gs[parent] = Value(gs[parent].value + part.value) if parent in gs else part


# %% wrong lift: for a node it returns None
# -         return a
# +         pass
# -     size, *shape = shape_of(a.value)
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +     else:
# +         size, *shape = shape_of(a.value)
# +         return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
