"""The exercises of step 5."""

import numpy as np

from lessons.build.oracle import close, is_class, names_of, same_gradients
from lessons.exercise import Wrong, exercise
from lessons.failure import short

INDICES = {"x[1]": 1, "x[1:3]": slice(1, 3), "x[::2]": slice(None, None, 2)}


def fresh(*shape):
    """Return random numbers, drawn anew for each check."""
    return np.random.default_rng().normal(size=shape)


@exercise(
    "Note the version when the Saved is made, not when it is opened.",
    "if self.memory.version != self.version: raise RuntimeError(...), with both numbers in the text.",
)
def Saved(answer):
    """The versions are equal exactly if there was no write since: comparing two numbers replaces a copy of the array."""
    is_class(answer)
    Memory = names_of(answer)["Memory"]
    memory = Memory(fresh(3))
    memory.version = 4
    saved = answer(memory)
    opened = saved.open()
    if opened is not memory.array:
        same = isinstance(opened, np.ndarray) and np.array_equal(opened, memory.array)
        raise Wrong(
            "open returns a copy of the array: return the array itself" if same else "open does not return the array"
        )
    if saved.open() is not memory.array:
        raise Wrong("the second call of open returns something else")
    later = answer(memory)
    memory.version = 6
    try:
        saved.open()
    except RuntimeError as e:
        if "4" not in str(e) or "6" not in str(e):
            raise Wrong(f"the message {str(e)!r} does not name both versions, here 4 and 6") from e
    except Exception as e:
        raise Wrong(f"after a write open raises {type(e).__name__}, expected a RuntimeError") from e
    else:
        raise Wrong("after a write open returns the changed array: compare the versions")
    try:
        later.open()
    except RuntimeError:
        pass
    else:
        raise Wrong("a second Saved of the same memory does not notice the write: each needs its own version")
    try:
        answer(memory).open()
    except RuntimeError as e:
        raise Wrong("a Saved that was made after the write refuses, too: only later writes count") from e
    if memory.version != 6:
        raise Wrong("Saved changes the version of the memory: only a write does")


@exercise(
    "memory_of(array) is the one memory of an array. A write counts there.",
    "One Saved for each array of ctx.saved_tensors, made now: a list, not a generator.",
)
def guards(answer):
    """Each Function is guarded where its node is made, so none of them can forget it."""
    known = names_of(answer)
    memory_of, x, y = known["memory_of"], fresh(3), fresh(2)
    ctx, empty = known["Context"]((True, True)), known["Context"]((True,))
    ctx.save_for_backward(x, y)
    made = answer(ctx)
    if made is None:
        raise Wrong("it returns None: is there a return?")
    if not isinstance(made, (list, tuple)):
        raise Wrong(f"it returns {short(made)}, expected a list: the versions are noted now, not when somebody looks")
    if len(made) != 2 or len(answer(empty)):
        raise Wrong(f"a context that saved 2 arrays has {len(made)} guards, one that saved none {len(answer(empty))}")
    if not all(isinstance(one, known["Saved"]) for one in made):
        raise Wrong(f"a guard is {short(made[0])}, expected a Saved")
    if [one.open() is array for one, array in zip(made, (x, y))] != [True, True]:
        raise Wrong("the guards do not open the saved arrays, in their order")
    memory_of(x).version += 1
    for one, array in zip(made, ("x", "y")):
        try:
            one.open()
        except RuntimeError:
            if array == "y":
                raise Wrong("a write to one array is noticed at another: each has its memory") from None
        else:
            if array == "x":
                raise Wrong("a write to a saved array is not noticed: ask for its memory with memory_of")
    if ctx.saved_tensors[0] is not x or ctx.saved_tensors[1] is not y:
        raise Wrong("the context has lost its arrays: backward needs them")


@exercise(
    "Numbers outside the part do not change the result: their gradient is 0.",
    "backward: zeros in the shape of base, and g at index. Keep the shape on ctx.",
)
def take(answer):
    """The gradient of a part goes back to its place, and all other numbers get 0."""
    known = names_of(answer)
    for what, index in INDICES.items():
        x = fresh(4, 2)
        leaf = known["Value"](x.copy())
        out = answer(leaf, index)
        if out is None:
            raise Wrong("take returns None: apply the Function, and return its node")
        if hasattr(out, "value") and not out.parents:
            raise Wrong("the node of the part has no parents: apply a Function to base, so that backward reaches it")
        if hasattr(out, "value") and np.shares_memory(out.value, leaf.value):
            raise Wrong("the value of the part shares memory with base: copy it, or a write changes both")
        same_gradients(
            lambda v, i=index: answer(v, i), lambda v, i=index: v[i], [x], known["Value"], known["backward"], what
        )


@exercise(
    "Which of the old numbers does the result still contain? Only those receive a gradient.",
    "to_base is a copy of g with 0 at index, and to_part is g[index].",
)
def put(answer):
    """The replaced numbers no longer matter, so their gradient is 0; it goes to the part instead."""
    known = names_of(answer)

    def oracle(index):
        def replaced(x, part):
            out = x.clone()
            out[index] = part
            return out

        return replaced

    for what, index in INDICES.items():
        x = fresh(4, 2)
        part = fresh(*x[index].shape)
        base = known["Value"](x.copy())
        out = answer(base, known["Value"](part), index)
        if not np.array_equal(base.value, x):
            raise Wrong(f"put changes the value of base ({what}): make a copy, since other nodes have saved it")
        if out is None:
            raise Wrong("put returns None: apply the Function, and return its node")
        g = fresh(4, 2)
        known["backward"](out, g.copy())
        if base.grad is not None and np.allclose(base.grad, g):
            raise Wrong(f"the numbers that {what} replaced receive a gradient: set it to 0 there")
        same_gradients(
            lambda v, p, i=index: answer(v, p, i), oracle(index), [x, part], known["Value"], known["backward"], what
        )


def leaf_and_tensor(known, x):
    """Return a leaf and a tensor of twice its numbers."""
    leaf = known["Value"](x.copy())
    return leaf, known["tensor"](known["mul"](leaf, 2.0))


@exercise(
    "base = x if x.base is None else x.base. Look at base.node.parents, and copy base.node.value, before you write.",
    "memory.array[x.index] = new.value; version += 1; then base.node = new, or put(base.node, new, x.index) for a view.",
)
def write(answer):
    """The memory has the new numbers, its version counts, and the base stands for a node that knows of the write."""
    known = names_of(answer)
    mul, view, backward, total = (known[name] for name in ("mul", "view", "backward", "total"))
    x, weights = fresh(4), fresh(4)
    for what, index in {"a tensor": None, "a view": slice(1, 3)}.items():
        leaf, t = leaf_and_tensor(known, x)
        old = t.node
        target = t if index is None else view(t, index)
        answer(target, mul(target.node, 5.0))
        factor = np.full(4, 10.0)
        if index is not None:
            factor[:] = 2.0
            factor[index] = 10.0
        if not np.array_equal(old.value, 2 * x):
            raise Wrong(
                f"after a write to {what} the old node of the base has the new numbers: give it a copy of its value before"
            )
        if np.allclose(t.memory.array, 2 * x):
            raise Wrong(f"after a write to {what} the memory has the old numbers: assign to memory.array[x.index]")
        close(t.memory.array, factor * x, f"the memory after a write to {what}")
        if t.memory.version != 1:
            raise Wrong(f"after one write to {what} the version is {t.memory.version}, expected 1")
        if t.node is old:
            raise Wrong(
                f"after a write to {what} the base still stands for its old node: backward would not see the write"
            )
        if index is not None and np.shape(t.node.value) != (4,):
            raise Wrong(
                "after a write to a view the base stands for the node of the part: put it into the old node of the base"
            )
        close(t.node.value, factor * x, f"the value of the base's node after a write to {what}")
        backward(total(mul(t.node, weights)))
        if leaf.grad is None:
            raise Wrong(f"after a write to {what} no gradient reaches the leaf: the new node must have parents")
        close(leaf.grad, factor * weights, f"the gradient of the leaf after a write to {what}")
    leaf = known["Value"](x.copy())
    t = known["tensor"](known["exp"](leaf))
    answer(t, mul(t.node, 10.0))
    try:
        backward(total(t.node))
    except RuntimeError:
        pass
    else:
        close(leaf.grad, 10 * np.exp(x), "a write to the result that exp has saved raises nothing, and the gradient")
    for what, index in {"a leaf": None, "a view of a leaf": slice(1, 3)}.items():
        t = known["tensor"](known["Value"](x.copy()))
        target = t if index is None else view(t, index)
        try:
            answer(target, mul(target.node, 5.0))
        except RuntimeError:
            pass
        except Exception as e:
            raise Wrong(f"for {what} it raises {type(e).__name__}, expected a RuntimeError") from e
        else:
            raise Wrong(f"{what} may be written to: refuse it with a RuntimeError")
        if t.memory.version or not np.array_equal(t.memory.array, x):
            raise Wrong(f"{what} is refused after the memory has changed: look first, then write")


@exercise(
    "A tensor that is no view always has the right node: write has set it.",
    "For a view with x.seen != x.memory.version: x.node = take(x.base.node, x.index), and x.seen = x.memory.version.",
)
def history(answer):
    """Views look at the version when they are used, so a write costs the same for any number of views."""
    known = names_of(answer)
    mul, view, write, total, backward = (known[name] for name in ("mul", "view", "write", "total", "backward"))
    x = fresh(4)
    leaf, t = leaf_and_tensor(known, x)
    if answer(t) is None:
        raise Wrong("it returns None: is there a return?")
    if answer(t) is not t.node:
        raise Wrong("for a tensor that is no view it returns something else than its node")
    part, other = view(t, slice(1, 3)), view(t, slice(0, 2))
    before = part.node
    if answer(part) is not before:
        raise Wrong("without a write a view gets a new node: keep the old one, it has been used")
    write(other, mul(other.node, 5.0))
    node = answer(part)
    if node is before:
        raise Wrong("after a write to another view it returns the old node: compare x.seen with the memory's version")
    close(node.value, np.array([10.0, 2.0]) * x[1:3], "the value of a view's node after a write to another view")
    if answer(part) is not node:
        raise Wrong("each call makes another node: note the version in x.seen")
    backward(total(node))
    if leaf.grad is None:
        raise Wrong("the view's node does not lead to the leaf: take the part from the node of the base")
    close(leaf.grad, np.array([0.0, 10.0, 2.0, 0.0]), "the gradient of the leaf through a view after a write")
    write(t, mul(answer(t), 3.0))
    close(answer(part).value, np.array([30.0, 6.0]) * x[1:3], "the value of a view's node after a second write")
