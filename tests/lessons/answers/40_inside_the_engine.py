# %% values engine_turns
["loss", "d", "c", "b"]  # right
("loss", "d", "c", "b")  # right
["loss", "c", "d", "b"]  # created later
["b", "c", "d", "loss"]  # forward pass
["loss", "c", "b", "d"]  # waits for the gradients
["loss", "d", "b", "c", "b"]  # called once
["d", "c", "b"]  # starts at loss
"loss, d, c, b"  # expected a list


# %% right engine_backward
def engine_backward(loss):
    from heapq import heappop, heappush

    number = lambda node: node._sequence_nr() if hasattr(node, "_sequence_nr") else 2**64 - 1
    count = count_dependencies(loss.grad_fn)
    waiting, ready = {loss.grad_fn: torch.ones_like(loss)}, [(-number(loss.grad_fn), 0, loss.grad_fn)]
    with torch.no_grad():
        while ready:
            node = heappop(ready)[2]
            results = node(waiting.pop(node))
            for (after, _), g in zip(node.next_functions, results if isinstance(results, tuple) else (results,)):
                if after is not None:
                    waiting[after] = g if after not in waiting else waiting[after] + g
                    count[after] -= 1
                    if not count[after]:
                        heappush(ready, (-number(after), id(after), after))


# %% right engine_backward
@torch.no_grad()
def engine_backward(loss):
    youngest = lambda nodes: max(nodes, key=lambda node: getattr(node, "_sequence_nr", lambda: -1)())
    waiting = {loss.grad_fn: torch.ones(())}
    while waiting:
        node = youngest(waiting)
        results = node(waiting.pop(node))
        for (after, _), g in zip(node.next_functions, results if isinstance(results, tuple) else (results,)):
            if after is not None:
                waiting[after] = waiting.get(after, 0) + g


# %% wrong engine_backward: called twice
def engine_backward(loss):
    with torch.no_grad():
        recursive(loss.grad_fn, torch.ones_like(loss))


# %% wrong engine_backward: calls minigrad's engine
def engine_backward(loss):
    loss.backward()


# %% wrong engine_backward: the gradient of x
def engine_backward(loss):
    count = count_dependencies(loss.grad_fn)
    waiting, ready = {loss.grad_fn: torch.ones_like(loss)}, [loss.grad_fn]
    with torch.no_grad():
        while ready:
            node = ready.pop()
            results = node(waiting.pop(node))
            results = results if isinstance(results, tuple) else (results,)
            for (after, _), gradient in zip(node.next_functions, results):
                if after is not None:
                    waiting[after] = gradient
                    count[after] -= 1
                    if count[after] == 0:
                        ready.append(after)


# %% wrong engine_backward: no_grad
def engine_backward(loss):
    count = count_dependencies(loss.grad_fn)
    waiting, ready = {loss.grad_fn: torch.ones_like(loss)}, [loss.grad_fn]
    while ready:
        node = ready.pop()
        results = node(waiting.pop(node))
        results = results if isinstance(results, tuple) else (results,)
        for (after, _), gradient in zip(node.next_functions, results):
            if after is not None:
                waiting[after] = waiting[after] + gradient if after in waiting else gradient
                count[after] -= 1
                if count[after] == 0:
                    ready.append(after)


# %% wrong engine_backward: is None, expected a tensor
def engine_backward(loss):
    loss.grad_fn(torch.ones_like(loss))


# %% right engine_grad
def engine_grad(loss, leaves):
    reached = [node.variable for node in count_dependencies(loss.grad_fn) if node.name() == "AccumulateGrad"]
    before = [(leaf, leaf.grad) for leaf in {id(leaf): leaf for leaf in [*leaves, *reached]}.values()]
    for leaf, _ in before:
        leaf.grad = None
    engine_backward(loss)
    found = tuple([leaf.grad for leaf in leaves])
    for leaf, gradient in before:
        leaf.grad = gradient
    return found


# %% right engine_grad
@torch.no_grad()
def engine_grad(loss, leaves):
    number = lambda node: node._sequence_nr() if hasattr(node, "_sequence_nr") else -1
    waiting, found = {loss.grad_fn: torch.ones_like(loss)}, {}
    while waiting:
        node = max(waiting, key=number)
        gradient = waiting.pop(node)
        if number(node) < 0:
            found[id(node.variable)] = gradient
        else:
            results = node(gradient)
            for (after, _), g in zip(node.next_functions, results if isinstance(results, tuple) else (results,)):
                if after is not None:
                    waiting[after] = waiting[after] + g if after in waiting else g
    return [found.get(id(leaf)) for leaf in leaves]


# %% wrong engine_grad: calls minigrad's engine
def engine_grad(loss, leaves):
    return torch.autograd.grad(loss, leaves, allow_unused=True)


# %% wrong engine_grad: x.grad = [7, 7] beforehand
def engine_grad(loss, leaves):
    engine_backward(loss)
    return tuple(leaf.grad for leaf in leaves)


# %% wrong engine_grad: .grad has changed
def engine_grad(loss, leaves):
    for leaf in leaves:
        leaf.grad = None
    engine_backward(loss)
    return tuple(leaf.grad for leaf in leaves)


# %% wrong engine_grad: not in the list
def engine_grad(loss, leaves):
    before = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    engine_backward(loss)
    found = tuple(leaf.grad for leaf in leaves)
    for leaf, gradient in zip(leaves, before):
        leaf.grad = gradient
    return found


# %% wrong engine_grad: is there a return
# -     return tuple(leaf.grad for leaf in leaves)

# %% wrong engine_grad: expected a tuple
# -     found = tuple(leaf.grad for leaf in leaves)
# +     found = {leaf: leaf.grad for leaf in leaves}
