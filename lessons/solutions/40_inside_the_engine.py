# %% engine_turns
engine_turns = ["loss", "d", "c", "b"]


# %% engine_backward
def engine_backward(loss):
    count = count_dependencies(loss.grad_fn)
    waiting = {loss.grad_fn: torch.ones_like(loss)}
    ready = [loss.grad_fn]
    with torch.no_grad():
        while ready:
            node = ready.pop()
            results = node(waiting.pop(node))
            results = results if isinstance(results, tuple) else (results,)
            for (after, _), gradient in zip(node.next_functions, results):
                if after is None:
                    continue
                waiting[after] = waiting[after] + gradient if after in waiting else gradient
                count[after] -= 1
                if count[after] == 0:
                    ready.append(after)


# %% engine_grad
def engine_grad(loss, leaves):
    nodes = [node for node in count_dependencies(loss.grad_fn) if hasattr(node, "variable")]
    before = [(node.variable, node.variable.grad) for node in nodes]
    for leaf, _ in before:
        leaf.grad = None
    engine_backward(loss)
    reached = {id(leaf): leaf.grad for leaf, _ in before}
    for leaf, gradient in before:
        leaf.grad = gradient
    return tuple(reached.get(id(leaf)) for leaf in leaves)
