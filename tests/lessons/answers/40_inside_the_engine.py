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


# %% changes engine_backward
# loss.backward() -> loss.grad_fn(torch.ones_like(loss))  # is None, expected a tensor


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


# %% changes engine_grad
# return torch.autograd.grad(loss, leaves, allow_unused=True)
#   -> engine_backward(loss); return tuple(leaf.grad for leaf in leaves)  # x.grad = [7, 7] beforehand
# return torch.autograd.grad(loss, leaves, allow_unused=True) -> engine_backward(loss)  # is there a return
# found = tuple(leaf.grad for leaf in leaves) -> found = {leaf: leaf.grad for leaf in leaves}  # expected a tuple
