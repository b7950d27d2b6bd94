# %% product_jvp
def product_jvp(product, x, y, tx, ty):
    """Return the tangent of product(x, y), for * and @."""
    return product(tx, y) + product(x, ty)


# %% push
def push(layer, function, *args):
    """Run a Function on the values of duals; return a dual of its result and the tangent."""
    values = [layer.inside(a) for a in args]
    tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) for a in args]
    out = run(function, *values)
    return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)


# %% jvp
def jvp(f, xs, vs):
    """Return f(*xs), and its derivative in the direction of the tangents vs."""
    layer = Forward()
    out = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
    if not isinstance(out, Dual) or out.layer is not layer:
        return out, zeros_like(out)
    return out.value, out.tangent


# %% jacobian_forward
def jacobian_forward(f, x):
    """Return the Jacobian of a function of a vector: a column from each call of jvp."""
    columns = [jvp(f, [Value(x)], [Value(direction)])[1].value for direction in np.eye(len(x))]
    return np.stack(columns, axis=1)


# %% jacobian_backward
def jacobian_backward(f, x):
    """Return the Jacobian of a function of a vector: a row from each call of backward."""
    rows = []
    for i in range(len(f(Value(x)).value)):
        leaf = Value(x)
        out = f(leaf)
        backward(out, np.eye(len(out.value))[i])
        rows.append(np.zeros(len(x)) if leaf.grad is None else leaf.grad)
    return np.stack(rows)
