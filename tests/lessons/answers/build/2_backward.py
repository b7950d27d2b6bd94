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

# %% values reachable
lambda out: [out, *(p for p in dict.fromkeys(out.parents) if isinstance(p, Value))]  # nodes are missing

# %% wrong reachable: not a list
def reachable(out):
    found, waiting = [out], [out]
    while waiting:
        for parent in waiting.pop().parents:
            if isinstance(parent, Value) and parent not in found:
                found.append(parent)
                waiting.append(parent)
    return found

# %% wrong reachable: not a list
def reachable(out):
    numbers, found = [], []
    waiting = [out]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Value) and node.number not in numbers:
            numbers.append(node.number)
            found.append(node)
            waiting += node.parents
    return found

# %% changes reachable
# return list(found.values()) -> return [*found.values()]  # right
# found, waiting = {out.number: out}, [out] -> waiting = [out]; found = {out.number: out}  # right
# if isinstance(parent, Value) and parent.number not in found: -> if parent.number not in found:  # AttributeError
# found, waiting = {out.number: out}, [out] -> found, waiting = {}, [out]  # out itself is missing
# waiting.append(parent) -> pass  # nodes are missing
# return list(found.values()) -> return list(found)  # a plain number
# return list(found.values()) -> return list(found.values()) * 2  # a node is there twice
# return list(found.values()) -> out.value = 0.0; return list(found.values())  # reachable only reads the graph
# return list(found.values()) -> list(found.values())  # expected a list of nodes, got None

# %% right accumulate
def accumulate(node, g):
    if node.grad is None:
        node.grad = g
    else:
        node.grad = g + node.grad

# %% changes accumulate
# node.grad = g if node.grad is None else node.grad + g -> node.grad = g  # add instead of assigning
# node.grad = g if node.grad is None else node.grad + g -> node.grad = node.grad + g  # because node.grad is None
# node.grad = g + node.grad -> node.grad += g  # += writes into it
# node.grad = g -> return g  # still None
# g if node.grad is None else node.grad + g -> g if node.grad is not None else g  # add instead of assigning
# node.grad + g -> node.grad * g  # node.grad is
# node.grad + g -> node.grad - g  # node.grad is
# node.grad = g -> node.grad = 1.0  # node.grad is
# node.grad + g -> node.grad + g; node.value = node.value - g  # only grad may
# node.grad = g if node.grad is None else node.grad + g -> node.gradient = g  # node.grad is still None
# node.grad = g if node.grad is None else node.grad + g -> node.grad = (node.grad or 1.0) + g  # node.grad is
# node.grad = g if node.grad is None else node.grad + g -> raise TypeError("no")  # raises TypeError: no

# %% wrong backward: gradient of out is None
# -         accumulate(node, g)
# +         if node is not out:
# +             accumulate(node, g)

# %% wrong backward: accumulated twice
#           accumulate(node, g)
# +         if not node.parents:
# +             accumulate(node, g)

# %% wrong backward: your code raises
#                   arrived[parent.number] = arrived[parent.number] + part
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

# %% changes backward
# arrived, heap = {out.number: g}, [(-out.number, out)]
#   -> heap = [(-out.number, out)]; arrived = {out.number: g}  # right
# arrived[parent.number] + part -> part  # each use contributes; add them
# out.number: g -> out.number: 1.0  # ignores g
# heapq.heappush(heap, (-parent.number, parent)) -> pass  # does not reach the leaves
# accumulate(node, g) -> accumulate(node, g); g = node.grad  # after a second backward
# accumulate(node, g) -> pass  # gradient of out is None
# (-parent.number, parent) -> (parent.number, parent)  # visited again and again
# [(-out.number, out)] -> [(-out.number, out)]; out.value = 0.0  # the value of a node has changed

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

# %% changes forget
# node.grad = None -> node.value, node.grad = 0.0, None  # values or parents have changed
