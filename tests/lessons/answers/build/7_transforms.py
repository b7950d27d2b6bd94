# %% right innermost
def innermost(args):
    found = None
    for a in args:
        if isinstance(a, Box) and (found is None or a.layer.number > found.number):
            found = a.layer
    return found

# %% changes innermost
# max -> min  # a layer further out
# return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)
#   -> return Layer()  # expected None
# layer.number, default=None -> layer.number  # raises ValueError
# (a.layer for a in args if isinstance(a, Box)) -> (a.layer for a in args)  # raises AttributeError
# Box -> Value  # raises AttributeError
# key=lambda layer: layer.number, default -> default  # raises TypeError
# return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)
#   -> return max((a for a in args if isinstance(a, Box)), key=lambda a: a.layer.number, default=None)  # it returns the box
# return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)
#   -> return max((a.layer.number for a in args if isinstance(a, Box)), default=None)  # it returns a number
# return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)
#   -> return next((a.layer for a in args if isinstance(a, Box)), None)  # a layer further out
# return max((a.layer for a in args if isinstance(a, Box)), key=lambda layer: layer.number, default=None)
#   -> found = [a.layer for a in args if isinstance(a, Box)]; return found[-1] if found else None  # a layer further out
# return max -> max  # None although

# %% right lift
def lift(layer, a, rank):
    if isinstance(a, Box) and a.layer is layer:
        shape = shape_of(a)
        return run(Reshape, a.value, (*shape_of(a.value)[:1], *(1,) * (rank - len(shape)), *shape))
    return a

# %% wrong lift: for a node it returns None
# -         return a
# -     size, *shape = shape_of(a.value)
# -     return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
# +         pass
# +     else:
# +         size, *shape = shape_of(a.value)
# +         return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))

# %% changes lift
# (size, *[1] * (rank - len(shape)), *shape) -> (*[1] * (rank - len(shape)), size, *shape)  # before the batch dimension
# [1] * (rank - len(shape)), *shape -> shape, *[1] * (rank - len(shape))  # behind the example
# len(shape) -> len(shape) - 1  # does not count the batch
# (rank - len(shape)) -> rank  # has the shape
# return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape)) -> return a.value  # has the shape
# return run -> run  # is None
# return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape)) -> return a  # still a box
# return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
#   -> return Value(a.value.value.reshape(size, *[1] * (rank - len(shape)), *shape))  # the history is lost
# return run(Reshape, a.value, (size, *[1] * (rank - len(shape)), *shape))
#   -> return a.value.value.reshape(size, *[1] * (rank - len(shape)), *shape)  # compute with operations
# if not isinstance(a, Box) or a.layer is not layer: -> if not isinstance(a, Value):  # for a node it returns
# if not isinstance(a, Box) or a.layer is not layer: -> if not isinstance(a, Box):  # for a box of another layer

# %% changes vmap
# if isinstance(out, Box) and out.layer is layer: -> if not isinstance(out, Box) or out.layer is not layer:
#   return out.value -> return run(Expand, out, shape_of(xs)[:1] + shape_of(out))
#   return run(Expand, out, (shape_of(xs)[0], *shape_of(out))) -> return layer.inside(out)  # right
# return out.value -> return out  # still a box
# return batched -> return None  # vmap(f) is None, expected a function
# out = f(Box(xs, layer)) -> out = f(xs)  # which is no box
# return out.value -> out.value  # is a box of this layer, but it is repeated
# out = f(Box(xs, layer)) -> f(Box(xs, layer)); out = f(Box(xs, layer))  # f is called 2 times
# return run(Expand, out, (shape_of(xs)[0], *shape_of(out))) -> return out  # a constant result
# return out.value -> return out.value.value  # compute with operations
# shape_of(xs)[0] -> 1  # a constant result
# if isinstance(out, Box) and out.layer is layer: -> if isinstance(out, Box):  # an inner vmap that ignores
# if isinstance(out, Box) and out.layer is layer: -> if out.layer is layer:  # raises AttributeError
# layer = Batch() -> layer = Layer()  # your code raises

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

# %% changes grad
# gs[parent] = gs[parent] + part if parent in gs else part -> gs[parent] = part  # used three times
# return gradient -> return None  # grad(f) is None, expected a function
# for node in reversed(layer.tape): -> for node in layer.tape:  # none arrives at the box of x
# gs = {f(leaf): Value(1.0)} -> gs = {f(leaf): Value(2.0)}  # the gradient of total(x * 3) is 6
# return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x))) -> return gs[leaf]  # KeyError
# np.zeros(shape_of(x)) -> 0.0  # the gradient of a constant
# return gs -> gs  # is None
# return gs[leaf] if leaf in gs else Value(np.zeros(shape_of(x)))
#   -> return gs[leaf].value if leaf in gs else np.zeros(shape_of(x))  # compute with operations
# gs[parent] = gs[parent] + part if parent in gs else part -> gs.setdefault(parent, part)  # used three times
# gs[leaf] -> Box(gs[leaf], layer)  # still a box
# gs[parent] + part -> Value(gs[parent].value + part.value)  # raises TypeError
