# %% right reachable
# -     return list(found.values())
# +     return [*found.values()]


# %% right reachable
# -     found, waiting = {out.number: out}, [out]
# +     waiting = [out]
# +     found = {out.number: out}


# %% wrong reachable: AttributeError
# -             if isinstance(parent, Value) and parent.number not in found:
# +             if parent.number not in found:


# %% wrong reachable: out itself is missing
# -     found, waiting = {out.number: out}, [out]
# +     found, waiting = {}, [out]


# %% wrong reachable: nodes are missing
# -                 waiting.append(parent)
# +                 pass


# %% wrong reachable: expected a list of nodes
# -     return list(found.values())
# +     list(found.values())


# %% wrong reachable: a plain number
# -     return list(found.values())
# +     return list(found)


# %% wrong reachable: a node is there twice
# -     return list(found.values())
# +     return list(found.values()) * 2


# %% wrong reachable: RecursionError
def reachable(out):
    found = {}

    def visit(node):
        if isinstance(node, Value) and node.number not in found:
            found[node.number] = node
            for parent in node.parents:
                visit(parent)

    visit(out)
    return list(found.values())


# %% wrong reachable: a node is there twice
def reachable(out):
    waiting, found = [out], []
    while waiting:
        node = waiting.pop()
        if isinstance(node, Value):
            found.append(node)
            waiting += node.parents
    return found


# %% wrong reachable: is there a loop without end
def reachable(out):
    found, waiting = {}, [out]
    while waiting:
        found[waiting[0].number] = waiting[0]
    return list(found.values())


# %% wrong reachable: nodes are missing
def reachable(out):
    return [out, *(p for p in dict.fromkeys(out.parents) if isinstance(p, Value))]


# %% right accumulate
def accumulate(node, g):
    if node.grad is None:
        node.grad = g
    else:
        node.grad = g + node.grad


# %% wrong accumulate: add instead of assigning
def accumulate(node, g):
    node.grad = g


# %% wrong accumulate: because node.grad is None
def accumulate(node, g):
    node.grad = node.grad + g


# %% wrong accumulate: += writes into it
def accumulate(node, g):
    if node.grad is None:
        node.grad = g
    else:
        node.grad += g


# %% wrong accumulate: still None
def accumulate(node, g):
    return g if node.grad is None else node.grad + g


# %% wrong accumulate: add instead of assigning
def accumulate(node, g):
    node.grad = g if node.grad is not None else g


# %% wrong accumulate: node.grad is
def accumulate(node, g):
    node.grad = g if node.grad is None else node.grad * g


# %% wrong accumulate: node.grad is
def accumulate(node, g):
    node.grad = g if node.grad is None else node.grad - g


# %% wrong accumulate: node.grad is
def accumulate(node, g):
    node.grad = 1.0 if node.grad is None else node.grad + g


# %% wrong accumulate: only grad may
def accumulate(node, g):
    node.grad = g if node.grad is None else node.grad + g
    node.value = node.value - g


# %% wrong accumulate: node.grad is still None
def accumulate(node, g):
    node.gradient = g


# %% wrong accumulate: node.grad is
def accumulate(node, g):
    node.grad = (node.grad or 1.0) + g


# %% right backward
# -     arrived, heap = {out.number: g}, [(-out.number, out)]
# +     heap = [(-out.number, out)]
# +     arrived = {out.number: g}


# %% wrong backward: each use contributes; add them
# -                 arrived[parent.number] = arrived[parent.number] + part
# +                 arrived[parent.number] = part


# %% wrong backward: ignores g
# -     arrived, heap = {out.number: g}, [(-out.number, out)]
# +     arrived, heap = {out.number: 1.0}, [(-out.number, out)]


# %% wrong backward: does not reach the leaves
# -                 heapq.heappush(heap, (-parent.number, parent))
# +                 pass


# %% wrong backward: gradient of out is None
# -         accumulate(node, g)
# +         if node is not out:
# +             accumulate(node, g)


# %% wrong backward: accumulated twice
# -         accumulate(node, g)
# +         accumulate(node, g)
# +         if not node.parents:
# +             accumulate(node, g)


# %% wrong backward: after a second backward
# -         accumulate(node, g)
# +         accumulate(node, g)
# +         g = node.grad


# %% wrong backward: gradient of out is None
# -         accumulate(node, g)
# +         pass


# %% wrong backward: visited again and again
# -                 heapq.heappush(heap, (-parent.number, parent))
# +                 heapq.heappush(heap, (parent.number, parent))


# %% wrong backward: your code raises
# -                 arrived[parent.number] = arrived[parent.number] + part
# +                 arrived[parent.number] = arrived[parent.number] + part
# +                 heapq.heappush(heap, (-parent.number, parent))


# %% wrong backward: is there a loop without end
# -         _, node = heapq.heappop(heap)
# +         _, node = heap[0]
# +         if node is out and node.grad is not None:
# +             continue


# %% wrong backward: visited again and again
def backward(out, g=1.0):
    accumulate(out, g)
    for parent, part in contributions(out, g):
        backward(parent, part)


# %% wrong backward: the gradient of x is
def backward(out, g=1.0):
    seen, waiting = {out.number}, [(out, g)]
    while waiting:
        node, g = waiting.pop()
        accumulate(node, g)
        for parent, part in contributions(node, g):
            if parent.number not in seen:
                seen.add(parent.number)
                waiting.append((parent, part))


# %% values forget
lambda out: [setattr(node, 'grad', None) for node in reachable(out)] and None  # right
lambda out: setattr(out, 'grad', None)  # the gradient of the inner node is still there
lambda out: [setattr(n, 'grad', 0.0) for n in reachable(out)] and None  # 0, expected None
lambda out: [setattr(n, 'grad', None) for n in reachable(out) if n is not out] and None  # the gradient of out is still there
lambda out: [setattr(n, 'grad', None) for n in reachable(out) if n.parents] and None  # the gradient of the leaf is still there
lambda out: [setattr(n, 'grad', None) for n in reachable(out) if not n.parents] and None  # the gradient of out is still there
lambda out: [setattr(n, 'grad', None) for n in out.parents] and None  # the gradient of out is still there
lambda out: reachable(out) and None  # still there
lambda out: [setattr(n, 'grad', None) for n in reachable(out)]  # it only changes the nodes
lambda out: [setattr(n, 'grad', None) or setattr(n, 'parents', ()) for n in reachable(out)] and None  # only grad may
lambda out: [setattr(n, 'grad', None) or setattr(n, 'value', 0.0) for n in reachable(out)] and None  # only grad may
lambda out: [setattr(n, 'gradient', None) for n in reachable(out)] and None  # still there


# %% wrong reachable: reachable only reads the graph
# -     return list(found.values())
# +     out.value = 0.0
# +     return list(found.values())


# %% wrong reachable: expected a list of nodes, got None
# -     return list(found.values())
# +     list(found.values())


# %% wrong accumulate: raises TypeError: no
def accumulate(node, g):
    raise TypeError("no")


# %% wrong backward: the value of a node has changed
# -     arrived, heap = {out.number: g}, [(-out.number, out)]
# +     arrived, heap = {out.number: g}, [(-out.number, out)]
# +     out.value = 0.0


# %% wrong forget: values or parents have changed
# -         node.grad = None
# +         node.value, node.grad = 0.0, None
