# %% [markdown]
# # Numbers that remember
#
# A tensor with `requires_grad=True` remembers what is done with it. From that memory minigrad works out derivatives. In
# this lesson you follow the memory by hand, and see why the order in which it is walked matters.

# %%
import minigrad as torch
from viz import draw

# %% [markdown]
# ## One step
#
# `b` is made of `a`, so it has a `grad_fn`: the node of the operation that made it.

# %%
a = torch.tensor(3.0, requires_grad=True)
b = a * a
print(b)
assert b.grad_fn.name() == "MulBackward0"

# %% [markdown]
# The node knows where its inputs came from. `a` is a leaf, made by no operation: the end of the path is where its
# gradient is accumulated.

# %%
for node, output in b.grad_fn.next_functions:
    print(node.name(), output)
assert [node.name() for node, _ in b.grad_fn.next_functions] == ["AccumulateGrad", "AccumulateGrad"]

# %% [markdown]
# ## Walking back
#
# `backward` starts with the derivative of `b` by itself, which is 1, and multiplies it by each edge's local derivative.
# Both edges of `a * a` lead to `a`; each gives 3, and what meets at a leaf is added.

# %%
b.backward()
print(a.grad)
assert a.grad.item() == 6.0

# %% [markdown]
# ## Why the order matters
#
# `c` depends on `a` along four paths, two through each use of `b`. A walk that went on from `b` as soon as one gradient
# arrived would pass a half-finished sum further down. minigrad therefore always continues at the youngest node: nothing
# younger can still send it anything.

# %%
a = torch.tensor(1.0, requires_grad=True)
b = a + a
c = b + b
c.backward()
print(a.grad)
assert a.grad.item() == 4.0

# %% [markdown]
# ## The picture
#
# The same program, drawn: forward with its values, and backward with what flows along each edge.


# %%
def program(a):
    b = a + a
    return b + b


record = torch.record(program, torch.tensor(1.0))
draw(record, passes=("forward", "backward"))

# %%
document = record.to_dict()
gradients = {value: gradient for value, gradient in document["gradients"].items()}
leaf = next(v["id"] for v in document["values"] if v["name"] == "a")
assert document["values"][gradients[str(leaf)]]["summary"] == {"values": 4.0}
