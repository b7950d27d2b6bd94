# %% reachable
def reachable(out):
    """Return all nodes behind out, and out itself, each once."""
    found, waiting = {out.number: out}, [out]
    while waiting:
        for parent in waiting.pop().parents:
            if isinstance(parent, Value) and parent.number not in found:
                found[parent.number] = parent
                waiting.append(parent)
    return list(found.values())


# %% accumulate
def accumulate(node, g):
    """Add a gradient to that of a node."""
    node.grad = g if node.grad is None else node.grad + g


# %% backward
def backward(out, g=1.0):
    """Add the gradients of out to the grad of each node behind it, youngest first; g is the gradient of out."""
    arrived, heap = {out.number: g}, [(-out.number, out)]
    while heap:
        _, node = heapq.heappop(heap)
        g = arrived.pop(node.number)
        accumulate(node, g)
        for parent, part in contributions(node, g):
            if parent.number in arrived:
                arrived[parent.number] = arrived[parent.number] + part
            else:
                arrived[parent.number] = part
                heapq.heappush(heap, (-parent.number, parent))


# %% forget
def forget(out):
    """Set the gradient of out, and of all nodes behind it, to None."""
    for node in reachable(out):
        node.grad = None
