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

# %% changes Saved
# if self.memory.version != self.version: -> if False:  # returns the changed array
# return self.memory.array -> return self.memory.array.copy()  # returns a copy
# return self.memory.array -> return self.memory  # does not return the array
# return self.memory.array -> pass  # does not return the array
# RuntimeError -> ValueError  # expected a RuntimeError
# raise RuntimeError(f"saved at version {self.version}, but the memory is at version {self.memory.version}")
#   -> raise RuntimeError("modified by an in-place operation")  # does not name both versions
# if self.memory.version != self.version: -> if self.memory.version > 4:  # refuses, too
# self.memory, self.version = memory, memory.version -> self.memory, self.version = memory, 0  # RuntimeError
# return -> self.memory.version += 0 if self.version < 6 else 1; return  # changes the version

# %% right guards
def guards(ctx):
    made = []
    for array in ctx.saved_tensors:
        made.append(Saved(memory_of(array)))
    return tuple(made)

# %% wrong guards: has its memory
def guards(ctx):
    shared = memory_of(ctx.saved_tensors[0]) if ctx.saved_tensors else None

    class One(Saved):
        def __init__(self, array):
            super().__init__(shared)
            self.kept = array

        def open(self):
            super().open()
            return self.kept

    return [One(array) for array in ctx.saved_tensors]

# %% wrong guards: lost its arrays
def guards(ctx):
    found, ctx.saved_tensors = [Saved(memory_of(array)) for array in ctx.saved_tensors], ((), ())
    return found

# %% changes guards
# return -> pass;  # returns None
# [Saved(memory_of(array)) for array in ctx.saved_tensors] -> (Saved(memory_of(a)) for a in ctx.saved_tensors)  # expected a list
# memory_of(array) -> Memory(array)  # is not noticed
# memory_of(array) -> memory_of(array.copy())  # do not open the saved arrays
# Saved(memory_of(array)) -> memory_of(array)  # expected a Saved
# Saved(memory_of(array)) -> array  # expected a Saved
# in ctx.saved_tensors -> in ctx.saved_tensors[:1]  # has 1 guards
# in ctx.saved_tensors -> in ctx.saved_tensors[::-1]  # in their order
# in ctx.saved_tensors -> in (*ctx.saved_tensors, np.ones(2))  # has 3 guards
# [Saved(memory_of(array)) for array in ctx.saved_tensors] -> Saved(memory_of(ctx.saved_tensors))  # expected a list
# [Saved(memory_of(array)) for array in ctx.saved_tensors] -> []  # has 0 guards

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

# %% changes take
# return Take.apply(base) -> Take.apply(base)  # returns None
# return Take.apply(base) -> return Value(base.value[index].copy())  # has no parents
# return x[index].copy() -> return x[index]  # shares memory
# to_base = np.zeros(ctx.shape) -> to_base = np.ones(ctx.shape)  # the gradient of argument 0
# return to_base -> return to_base / 2  # the gradient of argument 0
# to_base[index] = g -> to_base[index] = -g  # has the wrong sign
# to_base[index] = g -> to_base[index] = 1  # ignores the incoming gradient
# return to_base -> return to_base[::-1].copy()  # the gradient of argument 0
# return x[index].copy() -> return 2 * x[index]  # the result
# return x[index].copy() -> out = np.zeros(x.shape); out[index] = x[index]; return out  # the result
# return Take.apply(base) -> return base.value[index].copy()  # expected a node

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

# %% changes put
# return Put.apply(base, part) -> Put.apply(base, part)  # returns None
# out = x.copy() -> out = x  # changes the value of base
# to_base[index] = 0 -> pass  # replaced receive a gradient
# return to_base, g[index] -> return to_base, 0 * g[index]  # the gradient of argument 1
# return to_base, g[index] -> return to_base, -g[index]  # the gradient of argument 1
# return to_base, g[index] -> return 2 * to_base, g[index]  # the gradient of argument 0
# to_base = g.copy() -> to_base = np.ones(g.shape)  # the gradient of argument 0
# out[index] = new -> out[index] += new  # the result
# return out -> return x.copy()  # the result
# return to_base, g[index] -> return 0 * to_base, g[index]  # the gradient of argument 0
# return to_base, g[index] -> return to_base, np.ones_like(g[index])  # ignores the incoming gradient

# %% wrong write: look first, then write
def write(x, new):
    base = x if x.base is None else x.base
    base.node.value = base.node.value.copy()
    x.memory.array[x.index] = new.value
    x.memory.version += 1
    if not base.node.parents:
        raise RuntimeError("a leaf")
    base.node = new if x is base else put(base.node, new, x.index)

# %% right write
def write(x, new):
    base = x.base or x
    if len(base.node.parents) == 0:
        raise RuntimeError("this is a leaf")
    base.node.value = np.array(base.node.value)
    base.node = put(base.node, new, x.index) if x.base else new
    x.memory.version += 1
    x.memory.array[x.index] = new.value

# %% changes write
# drop base.node.value = base.node.value.copy()  # has the new numbers
# if not base.node.parents: -> if False:  # may be written to
# if not base.node.parents: -> if not x.node.parents:  # a view of a leaf
# raise RuntimeError("a leaf must not be written to: its gradient would belong to numbers that are gone")
#   -> raise ValueError("a leaf")  # expected a RuntimeError
# x.memory.array[x.index] = new.value -> pass  # has the old numbers
# x.memory.array[x.index] -> x.memory.array[: new.value.size]  # the memory after a write to a view
# x.memory.version += 1 -> pass  # the version is 0
# base.node = new if x is base else put(base.node, new, x.index) -> pass  # still stands for its old node
# base.node = new if x is base else put(base.node, new, x.index) -> base.node = new  # stands for the node of the part
# base.node = new if x is base else put(base.node, new, x.index) -> x.node = new  # still stands for its old node
# base.node = new -> base.node = Value(new.value)  # no gradient reaches the leaf
# x.memory.version += 1 -> x.memory.version += 2  # the version is 2

# %% wrong history: the value of a view's node
# -     if x.base is not None and x.seen != x.memory.version:
# -         x.node, x.seen = take(x.base.node, x.index), x.memory.version
# -     return x.node
# +     x.seen = x.memory.version
# +     return x.node if x.seen == x.memory.version == 0 or x.base is None else take(x.node, slice(None))

# %% right history
def history(x):
    if x.base is None or x.seen == x.memory.version:
        return x.node
    x.seen = x.memory.version
    x.node = take(x.base.node, x.index)
    return x.node

# %% changes history
# return x.node -> x.node  # returns None
# if x.base is not None and x.seen != x.memory.version: -> if False:  # it returns the old node
# if x.base is not None and x.seen != x.memory.version: -> if x.base is not None:  # gets a new node
# x.node, x.seen = take(x.base.node, x.index), x.memory.version
#   -> x.node = take(x.base.node, x.index)  # note the version in x.seen
# take(x.base.node, x.index) -> Value(x.memory.array[x.index])  # does not lead to the leaf
# return x.node -> return x.node if x.base is not None else Value(x.memory.array)  # something else than its node
# x.index -> slice(0, 2)  # the value of a view's node
# take(x.base.node, x.index) -> x.base.node  # the value of a view's node
# if x.base is not None and x.seen != x.memory.version: -> if x.seen == x.memory.version:  # AttributeError
# x.seen != x -> x.seen == 0 and x  # after a second write
