"""Introspection of the graph: nodes, `next_functions`, names, metadata; anomaly detection."""

from math import inf, nan

from tests.parity.harness import attempt, function, gives, leaf


def _shape(node):
    """Return the graph below a node as nested lists of operation names, without PyTorch's `Backward0`."""
    if node is None:
        return None
    name = node.name().rsplit("::", 1)[-1].lower()
    name = name.split("backward")[0]
    return [name, *(_shape(function) for function, _ in node.next_functions)]


@gives([True, 0, True, 0, "tuple"])
def next_functions_of_a_product(torch):
    x, c = leaf(torch, [1.0]), torch.tensor([2.0])
    node = (x * c).grad_fn
    (first, second) = node.next_functions
    return first[0].variable is x, first[1], second[0] is None, second[1], type(node.next_functions).__name__


@gives(["add", ["mul", ["accumulategrad"], ["accumulategrad"]], ["exp", ["accumulategrad"]]])
def structure_of_a_graph(torch):
    x, w = leaf(torch, [1.0]), leaf(torch, [2.0])
    return _shape((x * w + w.exp()).grad_fn)


@gives([["mul", None, ["accumulategrad"]], ["sub", ["accumulategrad"], None]])
def structure_with_untracked_and_detached_parts(torch):
    x, w = leaf(torch, [1.0]), leaf(torch, [2.0])
    return _shape((x.detach() * w).grad_fn), _shape((w - torch.ones(1)).grad_fn)


@gives([True, "AccumulateGrad", [], True])
def leaf_has_one_accumulating_node(torch):
    x = leaf(torch, [1.0])
    a, b = (x * 2).grad_fn, (x * 3).grad_fn
    node = a.next_functions[0][0]
    return node is b.next_functions[0][0], node.name().split("::")[-1], list(node.next_functions), node.variable is x


@gives(
    {
        "add": True,
        "mul": True,
        "div": True,
        "pow": True,
        "exp": True,
        "sum": True,
        "mean": True,
        "mm": True,
        "cat": True,
        "tanh": True,
        "relu": True,
        "sigmoid": True,
        "clone": True,
        "neg": True,
        "stack": True,
        "where": True,
        "expand": True,
        "permute": True,
        "softmax": True,
    }
)
def names_contain_the_operation(torch):
    x = leaf(torch, [[0.5, 0.25], [0.5, 1.0]])
    results = {
        "add": x + 1, "mul": x * 2, "div": x / 2, "pow": x**2, "exp": x.exp(), "sum": x.sum(), "mean": x.mean(),
        "mm": x.mm(x), "cat": torch.cat([x, x]), "tanh": x.tanh(), "relu": x.relu(),
        "sigmoid": x.sigmoid(), "clone": x.clone(), "neg": -x, "stack": torch.stack([x, x]),
        "where": torch.where(x > 0, x, x), "expand": x.expand(3, 2, 2), "permute": x.permute(1, 0),
        "softmax": x.softmax(0),
    }  # fmt: skip
    return {name: name in y.grad_fn.name().lower() for name, y in results.items()}


@gives(["FuncBackward", ["AccumulateGrad"]])
def name_of_a_custom_function(torch):
    y = function(torch).apply(leaf(torch, [1.0]))
    return y.grad_fn.name(), [node.name().split("::")[-1] for node, _ in y.grad_fn.next_functions]


@gives(["mine", True])
def metadata_is_a_dictionary_of_the_user(torch):
    node = (leaf(torch, [1.0]) * 2).grad_fn
    node.metadata["note"] = "mine"
    return node.metadata["note"], isinstance(node.metadata, dict)


@gives([True, True, 1, 0])
def grad_fn_stays_the_same_object(torch):
    y = leaf(torch, [1.0]) * 2
    return y.grad_fn is y.grad_fn, y.grad_fn == y.grad_fn, len({y.grad_fn, y.grad_fn}), y.output_nr


@gives([True, True])
def grad_fn_keeps_the_graph_alive(torch):
    x = leaf(torch, [2.0])
    y = x * x
    node = y.grad_fn
    del y
    return [function.variable is x for function, _ in node.next_functions]


def gradient_edges_through_a_whole_graph(torch):
    x = leaf(torch, [3.0])
    y = x.exp() * 2
    edge = torch.autograd.graph.GradientEdge(y.grad_fn, 0)
    return torch.autograd.grad((y * 5).sum(), [edge, x])


@gives([6.0])
def gradient_edge_as_root(torch):
    x = leaf(torch, [3.0])
    y = (x * x).sum()
    edge = torch.autograd.graph.get_gradient_edge(y)
    torch.autograd.backward(edge)
    return x.grad


@gives([1, RuntimeError])
def increment_version_is_noticed(torch):
    x = leaf(torch, [3.0])
    y = x * 1
    z = (y * y).sum()
    torch.autograd.graph.increment_version(y)
    return y._version, attempt(z.backward)


@gives({"NaN": [RuntimeError, None], "unchecked": [None, [nan]], "infinity": [None, [inf]], "good": [None, [0.25]]})
def anomaly_mode_finds_nan_alone(torch):
    def after(number, **options):
        x = leaf(torch, [number])
        with torch.autograd.detect_anomaly(**options):
            error = attempt(x.sqrt().sum().backward)
        return error, x.grad

    return {"NaN": after(-1.0), "unchecked": after(-1.0, check_nan=False), "infinity": after(0.0), "good": after(4.0)}


@gives(["RuntimeError", True, True])
def anomaly_error_names_the_operation(torch):
    x = leaf(torch, [0.0])
    with torch.autograd.detect_anomaly():
        error = attempt(((x / x) * 2).sum().backward)
    return type(error).__name__, "div" in str(error).lower(), "nan" in str(error).lower()


@gives(["RuntimeError", True])
def anomaly_mode_on_a_custom_function(torch):
    Func = function(torch, backward=lambda ctx, g: g * nan)
    with torch.autograd.detect_anomaly():
        error = attempt(Func.apply(leaf(torch, [1.0])).sum().backward)
    return type(error).__name__, "Func" in str(error)


@gives(KeyError)
def anomaly_mode_does_not_hide_other_errors(torch):
    def backward(ctx, g):
        raise KeyError("mine")

    Bad = function(torch, backward=backward)
    with torch.autograd.detect_anomaly():
        return attempt(Bad.apply(leaf(torch, [1.0])).sum().backward)


@gives([False, True, False, True, False, RuntimeError])
def set_detect_anomaly_as_context_and_function(torch):
    x, flags = leaf(torch, [-1.0]), [torch.is_anomaly_enabled()]
    with torch.autograd.set_detect_anomaly(True):
        flags.append(torch.is_anomaly_enabled())
        error = attempt(x.sqrt().sum().backward)
    flags.append(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(True)
    flags.append(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(False)
    return flags + [torch.is_anomaly_enabled(), error]


@gives([RuntimeError, False, None])
def anomaly_mode_is_left_after_an_error(torch):
    x = leaf(torch, [-1.0])

    def run():
        with torch.autograd.detect_anomaly():
            x.sqrt().sum().backward()

    return attempt(run), torch.is_anomaly_enabled(), attempt(x.sqrt().sum().backward)


@gives(RuntimeError)
def anomaly_in_second_backward(torch):
    x = leaf(torch, [0.0])
    with torch.autograd.detect_anomaly():
        (g,) = torch.autograd.grad((x.abs() ** 1.5).sum(), x, create_graph=True)
        return attempt(torch.autograd.grad, (g / g).sum(), x)


@gives([["accumulategrad"], ["accumulategrad"], ["accumulategrad", None], "AccumulateGrad"])
def next_functions_are_those_of_tensors(torch):
    Scale = function(torch, lambda ctx, n, x, y: x * n, lambda ctx, g: (None, g, None))
    x = leaf(torch, [1.0])
    nodes = x.sum(0, True).grad_fn, x.exp().grad_fn, Scale.apply(4, x, torch.ones(1)).grad_fn
    names = [[n if n is None else n.name().split("::")[-1].lower() for n, _ in node.next_functions] for node in nodes]
    return *names, type(nodes[0].next_functions[0][0]).__name__


@gives([True, True, [1.0, 4.0], [3.0, 4.0], RuntimeError, RuntimeError, AttributeError])
def saved_values_by_name(torch):
    x, y = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    square, product, root = x.pow(2), x * y, (y * 1).sqrt()
    z = y * 1
    modified = z * z
    z.add_(1)
    root.sum().backward()
    return (
        square.grad_fn._saved_self is x,
        x.exp().equal(x.exp().grad_fn._saved_result),
        product.grad_fn._saved_self * square.detach() / x.detach(),
        product.grad_fn._saved_other,
        attempt(lambda: root.grad_fn._saved_result),
        attempt(lambda: modified.grad_fn._saved_self),
        attempt(lambda: (x + y).grad_fn._saved_self),
    )


def nodes_have_pytorchs_names(torch):
    x, w, F = leaf(torch, [[1.0, 2.0, 3.0, 4.0]] * 3), torch.ones(5, 4), torch.nn.functional
    classes = torch.tensor([0, 1, 2])
    results = [
        *(x[0], x[1:], x[0, 1], x[:, None], x[..., 0], x[[0, 1]], x[x > 0], x.select(0, 0), x.narrow(0, 0, 1)),
        *(x.view(12), x.reshape(12), x.flatten(), x.unsqueeze(0), x.clone(), x.T.contiguous(), x.double()),
        *(x.expand(2, 3, 4), x.permute(1, 0), x.T, torch.cat([x, x]), torch.stack([x, x]), torch.where(x > 0, x, x)),
        *(x @ x.T, x @ torch.ones(4), x[0] @ torch.ones(4), torch.mm(x, x.T), x[None] @ x.T[None]),
        *(torch.bmm(x[None], x.T[None]), F.linear(x, w, torch.ones(5)), F.linear(x, w)),
        *(x.sum(), x.sum(0), x.sum(1, keepdim=True), x.mean(), x.mean((0,)), x.max(), x.max(0)[0], x.min(), x.amax()),
        *(x.median(), x.median(0)[0], x.norm(), x.std(), x.prod(), x.cumsum(0), x.softmax(0), x.abs(), x.relu()),
        *(
            F.gelu(x),
            F.gelu(x, approximate="tanh"),
            F.logsigmoid(x),
            F.cross_entropy(x, classes),
            F.nll_loss(x, classes),
        ),
        *(F.conv2d(x[None, None], torch.ones(1, 1, 2, 2)), F.max_pool2d(x[None], 2), F.layer_norm(x, (4,))),
        *(F.embedding(classes, x), F.pad(x, (1, 1))),
    ]
    text = str(x[0]).rsplit("grad_fn=")[1], repr(x[1:].grad_fn).split(" ")[0]
    return [r.grad_fn and r.grad_fn.name() for r in results], text


def nodes_are_functions_of_gradients(torch):
    x, y = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [5.0, 6.0])
    g = torch.tensor([[1.0, -1.0], [0.5, 2.0]], requires_grad=True)
    results = {
        "mul": (x * y).grad_fn(g),
        "number": (x * 2).grad_fn(g),
        "none": (x * y).grad_fn(None),
        "sum": x.sum(1).grad_fn(g[0]),
        "exp": x.exp().grad_fn(g),
        "matmul": (x @ y).grad_fn(g[0]),
        "double": x.double().grad_fn(g.double()),
        "where": torch.where(x > 2, x, y).grad_fn(g),
        "sort": x.sort()[0].grad_fn(g),
        "view": x.reshape(4).grad_fn(g.reshape(4)),
    }
    product = x * y
    with torch.no_grad():
        results["no grad"] = product.grad_fn(g)
    return results


def calling_a_node_frees_nothing_and_needs_what_backward_frees(torch):
    x = leaf(torch, [2.0, 3.0])
    y, g = x * x, torch.ones(2)
    first, second = y.grad_fn(g), y.grad_fn(g)
    y.sum().backward()
    return first, second, attempt(y.grad_fn, g), x.grad


def calling_the_end_of_an_edge_accumulates(torch):
    x = leaf(torch, [2.0, 3.0])
    end = (x * 2).grad_fn.next_functions[0][0]
    return end(torch.ones(2)), end(torch.ones(2)), x.grad.detach()


def calling_a_node_with_something_else(torch):
    node = (leaf(torch, [2.0, 3.0]) * 2).grad_fn
    return attempt(node), attempt(node, torch.ones(2), torch.ones(2)), attempt(node, 1.0), attempt(node, torch.ones(3))
