# %% Saved
class Saved:
    """A promise that the memory still has the numbers that it had when this was made."""

    def __init__(self, memory):
        self.memory, self.version = memory, memory.version

    def open(self):
        if self.memory.version != self.version:
            raise RuntimeError(f"saved at version {self.version}, but the memory is at version {self.memory.version}")
        return self.memory.array


# %% guards
def guards(ctx):
    """Return a Saved for each array that a context has saved."""
    return [Saved(memory_of(array)) for array in ctx.saved_tensors]


# %% take
def take(base, index):
    """Return the part base[index] as a node; backward puts the gradient of the part back to its place."""

    class Take(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x[index].copy()

        @staticmethod
        def backward(ctx, g):
            to_base = np.zeros(ctx.shape)
            to_base[index] = g
            return to_base

    return Take.apply(base)


# %% put
def put(base, part, index):
    """Return base with part at index, as a new node."""

    class Put(Function):
        @staticmethod
        def forward(ctx, x, new):
            out = x.copy()
            out[index] = new
            return out

        @staticmethod
        def backward(ctx, g):
            to_base = g.copy()
            to_base[index] = 0
            return to_base, g[index]

    return Put.apply(base, part)


# %% write
def write(x, new):
    """Write the value of a node into a tensor's memory; the node becomes its history."""
    base = x if x.base is None else x.base
    if not base.node.parents:
        raise RuntimeError("a leaf must not be written to: its gradient would belong to numbers that are gone")
    base.node.value = base.node.value.copy()
    x.memory.array[x.index] = new.value
    x.memory.version += 1
    base.node = new if x is base else put(base.node, new, x.index)


# %% history
def history(x):
    """Return the node that a tensor stands for now; that of a view is made anew after each write."""
    if x.base is not None and x.seen != x.memory.version:
        x.node, x.seen = take(x.base.node, x.index), x.memory.version
    return x.node
