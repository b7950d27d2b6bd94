# %% wrong Saved: returns the changed array
# -         if self.memory.version != self.version:
# +         if False:


# %% wrong Saved: returns a copy
# -         return self.memory.array
# +         return self.memory.array.copy()


# %% wrong Saved: does not return the array
# -         return self.memory.array
# +         return self.memory


# %% wrong Saved: does not return the array
# -         return self.memory.array
# +         pass


# %% wrong Saved: expected a RuntimeError
# -             raise RuntimeError(f"saved at version {self.version}, but the memory is at version {self.memory.version}")
# +             raise ValueError(f"saved at version {self.version}, but the memory is at version {self.memory.version}")


# %% wrong Saved: does not name both versions
# -             raise RuntimeError(f"saved at version {self.version}, but the memory is at version {self.memory.version}")
# +             raise RuntimeError("modified by an in-place operation")


# %% wrong Saved: refuses, too
# -         if self.memory.version != self.version:
# +         if self.memory.version > 4:


# %% wrong Saved: RuntimeError
# -         self.memory, self.version = memory, memory.version
# +         self.memory, self.version = memory, 0


# %% wrong Saved: a second Saved of the same memory
class Saved:
    versions = {}

    def __init__(self, memory):
        self.memory, self.first = memory, Saved.versions.setdefault(id(memory), memory.version)
        self.again = memory.version != self.first or len(Saved.versions) > 1 or getattr(memory, "asked", False)
        memory.asked = True

    def open(self):
        if self.memory.version != self.first and not self.again:
            raise RuntimeError(f"{self.first} and {self.memory.version}")
        return self.memory.array


# %% wrong Saved: the second call
class Saved:
    def __init__(self, memory):
        self.memory, self.version = memory, memory.version

    def open(self):
        if self.memory.version != self.version:
            raise RuntimeError(f"{self.version} and {self.memory.version}")
        array, self.memory = self.memory.array, Memory(None)
        self.memory.version = self.version
        return array


# %% wrong Saved: changes the version
# -         return self.memory.array
# +         self.memory.version += 0 if self.version < 6 else 1
# +         return self.memory.array


# %% right Saved
class Saved:
    def __init__(self, memory):
        self.version = memory.version
        self.memory = memory

    def open(self):
        now = self.memory.version
        if now == self.version:
            return self.memory.array
        raise RuntimeError(f"version {now}, expected {self.version}")


# %% wrong take: returns None
# -     return Take.apply(base)
# +     Take.apply(base)


# %% wrong take: has no parents
# -     return Take.apply(base)
# +     return Value(base.value[index].copy())


# %% wrong take: shares memory
# -             return x[index].copy()
# +             return x[index]


# %% wrong take: the gradient of argument 0
# -             to_base = np.zeros(ctx.shape)
# +             to_base = np.ones(ctx.shape)


# %% wrong take: the gradient of argument 0
# -             return to_base
# +             return to_base / 2


# %% wrong take: has the wrong sign
# -             to_base[index] = g
# +             to_base[index] = -g


# %% wrong take: ignores the incoming gradient
# -             to_base[index] = g
# +             to_base[index] = 1


# %% wrong take: the gradient of argument 0
# -             return to_base
# +             return to_base[::-1].copy()


# %% wrong take: the result
# -             return x[index].copy()
# +             return 2 * x[index]


# %% wrong take: the result
# -             return x[index].copy()
# +             out = np.zeros(x.shape)
# +             out[index] = x[index]
# +             return out


# %% wrong take: expected a node
# -     return Take.apply(base)
# +     return base.value[index].copy()


# %% right take
def take(base, index):
    class Take(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.zeros = np.zeros_like(x)
            return np.array(x[index])

        @staticmethod
        def backward(ctx, g):
            ctx.zeros[index] += g
            return ctx.zeros

    return Take.apply(base)


# %% wrong put: returns None
# -     return Put.apply(base, part)
# +     Put.apply(base, part)


# %% wrong put: changes the value of base
# -             out = x.copy()
# +             out = x


# %% wrong put: replaced receive a gradient
# -             to_base[index] = 0
# +             pass


# %% wrong put: the gradient of argument 1
# -             return to_base, g[index]
# +             return to_base, 0 * g[index]


# %% wrong put: the gradient of argument 1
# -             return to_base, g[index]
# +             return to_base, -g[index]


# %% wrong put: the gradient of argument 0
# -             return to_base, g[index]
# +             return 2 * to_base, g[index]


# %% wrong put: the gradient of argument 0
# -             to_base = g.copy()
# +             to_base = np.ones(g.shape)


# %% wrong put: the result
# -             out[index] = new
# +             out[index] += new


# %% wrong put: the result
# -             return out
# +             return x.copy()


# %% wrong put: the gradient of argument 0
# -             return to_base, g[index]
# +             return 0 * to_base, g[index]


# %% wrong put: ignores the incoming gradient
# -             return to_base, g[index]
# +             return to_base, np.ones_like(g[index])


# %% right put
def put(base, part, index):
    class Put(Function):
        @staticmethod
        def forward(ctx, x, new):
            out = np.array(x)
            out[index] = new
            return out

        @staticmethod
        def backward(ctx, g):
            kept = np.ones(g.shape)
            kept[index] = 0
            return g * kept, g[index].copy()

    return Put.apply(base, part)


# %% wrong write: may be written to
# -     if not base.node.parents:
# +     if False:


# %% wrong write: a view of a leaf
# -     if not base.node.parents:
# +     if not x.node.parents:


# %% wrong write: expected a RuntimeError
# -         raise RuntimeError("a leaf must not be written to: its gradient would belong to numbers that are gone")
# +         raise ValueError("a leaf")


# %% wrong write: has the old numbers
# -     x.memory.array[x.index] = new.value
# +     pass


# %% wrong write: the memory after a write to a view
# -     x.memory.array[x.index] = new.value
# +     x.memory.array[: new.value.size] = new.value


# %% wrong write: the version is 0
# -     x.memory.version += 1
# +     pass


# %% wrong write: still stands for its old node
# -     base.node = new if x is base else put(base.node, new, x.index)
# +     pass


# %% wrong write: stands for the node of the part
# -     base.node = new if x is base else put(base.node, new, x.index)
# +     base.node = new


# %% wrong write: still stands for its old node
# -     base.node = new if x is base else put(base.node, new, x.index)
# +     x.node = new


# %% wrong write: no gradient reaches the leaf
# -     base.node = new if x is base else put(base.node, new, x.index)
# +     base.node = Value(new.value) if x is base else put(base.node, new, x.index)


# %% wrong write: look first, then write
def write(x, new):
    base = x if x.base is None else x.base
    x.memory.array[x.index] = new.value
    x.memory.version += 1
    if not base.node.parents:
        raise RuntimeError("a leaf")
    base.node = new if x is base else put(base.node, new, x.index)


# %% wrong write: the version is 2
# -     x.memory.version += 1
# +     x.memory.version += 2


# %% right write
def write(x, new):
    base = x.base or x
    if len(base.node.parents) == 0:
        raise RuntimeError("this is a leaf")
    base.node = put(base.node, new, x.index) if x.base else new
    x.memory.version += 1
    x.memory.array[x.index] = new.value


# %% wrong history: returns None
# -     return x.node
# +     x.node


# %% wrong history: it returns the old node
# -     if x.base is not None and x.seen != x.memory.version:
# +     if False:


# %% wrong history: gets a new node
# -     if x.base is not None and x.seen != x.memory.version:
# +     if x.base is not None:


# %% wrong history: note the version in x.seen
# -         x.node, x.seen = take(x.base.node, x.index), x.memory.version
# +         x.node = take(x.base.node, x.index)


# %% wrong history: does not lead to the leaf
# -         x.node, x.seen = take(x.base.node, x.index), x.memory.version
# +         x.node, x.seen = Value(x.memory.array[x.index]), x.memory.version


# %% wrong history: something else than its node
# -     return x.node
# +     return x.node if x.base is not None else Value(x.memory.array)


# %% wrong history: the value of a view's node
# -         x.node, x.seen = take(x.base.node, x.index), x.memory.version
# +         x.node, x.seen = take(x.base.node, slice(0, 2)), x.memory.version


# %% wrong history: the value of a view's node
# -         x.node, x.seen = take(x.base.node, x.index), x.memory.version
# +         x.node, x.seen = x.base.node, x.memory.version


# %% wrong history: the value of a view's node
# -     return x.node
# +     return x.node if x.seen == x.memory.version == 0 or x.base is None else take(x.node, slice(None))
# -     if x.base is not None and x.seen != x.memory.version:
# -         x.node, x.seen = take(x.base.node, x.index), x.memory.version
# +     x.seen = x.memory.version


# %% wrong history: AttributeError
# -     if x.base is not None and x.seen != x.memory.version:
# +     if x.seen == x.memory.version:


# %% wrong history: after a second write
# -     if x.base is not None and x.seen != x.memory.version:
# +     if x.base is not None and x.seen == 0 and x.memory.version:


# %% right history
def history(x):
    if x.base is None or x.seen == x.memory.version:
        return x.node
    x.seen = x.memory.version
    x.node = take(x.base.node, x.index)
    return x.node
