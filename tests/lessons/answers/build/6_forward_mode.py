# %% wrong product_jvp: that does not change: add product(x, ty)
# -     return product(tx, y) + product(x, ty)
# +     return product(tx, y)


# %% wrong product_jvp: that does not change: add product(tx, y)
# -     return product(tx, y) + product(x, ty)
# +     return product(x, ty)


# %% wrong product_jvp: the product of the two tangents
# -     return product(tx, y) + product(x, ty)
# +     return product(tx, ty)


# %% wrong product_jvp: of second order
# -     return product(tx, y) + product(x, ty)
# +     return product(tx, y) + product(x, ty) + product(tx, ty)


# %% wrong product_jvp: the terms are subtracted
# -     return product(tx, y) + product(x, ty)
# +     return product(tx, y) - product(x, ty)


# %% wrong product_jvp: it is the value of the product
# -     return product(tx, y) + product(x, ty)
# +     return product(x, y)


# %% wrong product_jvp: value of the factor that it belongs to
# -     return product(tx, y) + product(x, ty)
# +     return product(tx, x) + product(ty, y)


# %% wrong product_jvp: the tangent of x @ y
# -     return product(tx, y) + product(x, ty)
# +     return product(y, tx) + product(ty, x)


# %% wrong product_jvp: is None
# -     return product(tx, y) + product(x, ty)
# +     product(tx, y) + product(x, ty)


# %% wrong product_jvp: compute with nodes
def product_jvp(product, x, y, tx, ty):
    return x.value * ty.value + tx.value * y.value


# %% wrong product_jvp: x @ y
# -     return product(tx, y) + product(x, ty)
# +     return tx * y + x * ty


# %% right product_jvp
def product_jvp(product, x, y, tx, ty):
    through_y = product(x, ty)
    return through_y + product(tx, y)


# %% wrong push: expected a Dual
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return rule_of(function)(out, *values, *tangents)


# %% wrong push: it returns None
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)


# %% wrong push: calls itself without end
def push(layer, function, *args):
    return push(layer, function, *args)


# %% wrong push: never calls the rule
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(out, tangents[0], layer, args, function)


# %% wrong push: the rule receives duals
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(out, rule_of(function)(out, *args, *tangents), layer, args, function)


# %% wrong push: are swapped
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(rule_of(function)(out, *values, *tangents), out, layer, args, function)


# %% wrong push: TypeError
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(out, rule_of(function)(out, *values), layer, args, function)


# %% wrong push: give the Dual its parents
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(out, rule_of(function)(out, *values, *tangents), layer)


# %% wrong push: the tangent for
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(out, rule_of(function)(out, *values, *tangents[::-1]), layer, args, function)


# %% wrong push: AttributeError
# -     tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) for a in args]
# +     tangents = [a.tangent for a in args]


# %% wrong push: the constant has the tangent 1
# -     tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) for a in args]
# +     tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) + 1.0 for a in args]


# %% wrong push: the tangent for
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(out, rule_of(function)(out, *values, *[2 * t for t in tangents]), layer, args, function)


# %% wrong push: Compute the value with run
# -     out = run(function, *values)
# +     out = function.apply(*values)


# %% wrong push: no dual of that layer
# -     values = [layer.inside(a) for a in args]
# +     values = [a.value if isinstance(a, Dual) else a for a in args]


# %% wrong push: the Dual is of another layer
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     return Dual(out, rule_of(function)(out, *values, *tangents), Forward(), args, function)


# %% wrong push: a product of a dual and a dual of a layer further out is
# -     tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) for a in args]
# +     tangents = [a.tangent if isinstance(a, Dual) else zeros_like(a) for a in args]


# %% right push
def push(layer, function, *args):
    values, tangents = [], []
    for a in args:
        own = isinstance(a, Dual) and a.layer is layer
        values.append(a.value if own else a)
        tangents.append(a.tangent if own else zeros_like(a))
    out = run(function, *values)
    return Dual(out, rule_of(function)(out, *values, *tangents), layer, parents=args, op=function)


# %% wrong jvp: expected two nodes
# -     return out.value, out.tangent
# +     return out


# %% wrong jvp: value and tangent are swapped
# -     return out.value, out.tangent
# +     return out.tangent, out.value


# %% wrong jvp: expected two nodes
# -     return out.value, out.tangent
# +     return out.tangent


# %% wrong jvp: the direction of ones
# -     out = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
# +     out = f(*[Dual(x, v * 0.0 + 1.0, layer) for x, v in zip(xs, vs)])


# %% wrong jvp: the values went in as tangents
# -     out = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
# +     out = f(*[Dual(x, x, layer) for x, v in zip(xs, vs)])


# %% wrong jvp: f receives arguments that are no duals
def jvp(f, xs, vs):
    first = f(Dual(xs[0], vs[0], Forward()), *xs[1:])
    return first.value, first.tangent


# %% wrong jvp: AttributeError
def jvp(f, xs, vs):
    layer = Forward()
    out = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
    return out.value, out.tangent


# %% wrong jvp: the tangent of a function that ignores its argument
# -         return out, zeros_like(out)
# +         return out, out


# %% wrong jvp: it calls f 2 times
def jvp(f, xs, vs):
    layer = Forward()
    value = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
    tangent = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
    return (value.value, tangent.tangent) if isinstance(value, Dual) else (value, zeros_like(value))


# %% wrong jvp: the tangent is
# -     return out.value, out.tangent
# +     return out.value, out.tangent * 2.0


# %% wrong jvp: the value is
# -     out = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
# +     out = f(*[Dual(v, x, layer) for x, v in zip(xs, vs)])


# %% wrong jvp: expected a node
# -     return out.value, out.tangent
# +     return out.value.value, out.tangent.value


# %% wrong jvp: tangents of two calls are mixed
# -     if not isinstance(out, Dual) or out.layer is not layer:
# +     if not isinstance(out, Dual):


# %% wrong jvp: have two layers
# -     out = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
# +     out = f(*[Dual(x, v, Forward()) for x, v in zip(xs, vs)])


# %% wrong jvp: xs or vs has changed
# -     layer = Forward()
# +     layer = Forward()
# +     xs.append(vs)


# %% right jvp
def jvp(f, xs, vs):
    layer = Forward()
    out = f(*(Dual(x, v, layer) for x, v in zip(xs, vs)))
    own = isinstance(out, Dual) and out.layer is layer
    return (layer.inside(out), out.tangent if own else zeros_like(out))


# %% wrong jacobian_forward: expected an array
# -     return np.stack(columns, axis=1)
# +     return list(np.stack(columns, axis=1))


# %% wrong jacobian_forward: transposed
# -     return np.stack(columns, axis=1)
# +     return np.stack(columns)


# %% wrong jacobian_forward: one row or column, or their sum
# -     return np.stack(columns, axis=1)
# +     return sum(columns)


# %% wrong jacobian_forward: one row or column, or their sum
# -     return np.stack(columns, axis=1)
# +     return columns[0]


# %% wrong jacobian_forward: returns None
# -     return np.stack(columns, axis=1)
# +     np.stack(columns, axis=1)


# %% wrong jacobian_forward: the Jacobian of
# -     columns = [jvp(f, [Value(x)], [Value(direction)])[1].value for direction in np.eye(len(x))]
# +     columns = [jvp(f, [Value(x)], [Value(direction)])[0].value for direction in np.eye(len(x))]


# %% wrong jacobian_forward: the Jacobian of
# -     return np.stack(columns, axis=1)
# +     return np.stack(columns[::-1], axis=1)


# %% wrong jacobian_forward: the array holds nodes
def jacobian_forward(f, x):
    columns = [jvp(f, [Value(x)], [Value(direction)])[1] for direction in np.eye(len(x))]
    return np.array(columns, dtype=object)


# %% wrong jacobian_forward: use jvp
def jacobian_forward(f, x):
    rows = []
    for i in range(len(f(Value(x)).value)):
        leaf = Value(x)
        out = f(leaf)
        backward(out, np.eye(len(out.value))[i])
        rows.append(leaf.grad)
    return np.stack(rows)


# %% wrong jacobian_forward: the Jacobian of
# -     columns = [jvp(f, [Value(x)], [Value(direction)])[1].value for direction in np.eye(len(x))]
# +     columns = [jvp(f, [Value(x)], [Value(direction)])[1].value for direction in np.ones((len(x), len(x)))]


# %% wrong jacobian_forward: the Jacobian of
# -     columns = [jvp(f, [Value(x)], [Value(direction)])[1].value for direction in np.eye(len(x))]
# +     columns = [jvp(f, [Value(direction)], [Value(direction)])[1].value for direction in np.eye(len(x))]


# %% wrong jacobian_forward: the Jacobian of
# -     columns = [jvp(f, [Value(x)], [Value(direction)])[1].value for direction in np.eye(len(x))]
# +     columns = [jvp(f, [Value(x)], [Value(direction)])[1].value for direction in np.eye(len(x))[:-1]]


# %% right jacobian_forward
def jacobian_forward(f, x):
    return np.array([jvp(f, [Value(x)], [Value(e)])[1].value for e in np.identity(x.size)]).T


# %% wrong jacobian_backward: transposed
# -     return np.stack(rows)
# +     return np.stack(rows, axis=1)


# %% wrong jacobian_backward: .grad adds up
def jacobian_backward(f, x):
    rows, leaf = [], Value(x)
    for i in range(len(f(Value(x)).value)):
        out = f(leaf)
        backward(out, np.eye(len(out.value))[i])
        rows.append(np.array(leaf.grad))
    return np.stack(rows)


# %% wrong jacobian_backward: one row or column, or their sum
def jacobian_backward(f, x):
    leaf = Value(x)
    out = f(leaf)
    backward(out, np.ones(len(out.value)))
    return leaf.grad


# %% wrong jacobian_backward: returns None
# -     return np.stack(rows)
# +     np.stack(rows)


# %% wrong jacobian_backward: the Jacobian of a function that ignores its argument
# -         rows.append(np.zeros(len(x)) if leaf.grad is None else leaf.grad)
# +         rows.append(leaf.grad)


# %% wrong jacobian_backward: use backward
def jacobian_backward(f, x):
    return np.stack([jvp(f, [Value(x)], [Value(e)])[1].value for e in np.eye(len(x))], axis=1)


# %% wrong jacobian_backward: the Jacobian of
# -     return np.stack(rows)
# +     return np.stack(rows[::-1])


# %% wrong jacobian_backward: the Jacobian of
# -         backward(out, np.eye(len(out.value))[i])
# +         backward(out, 2 * np.eye(len(out.value))[i])


# %% wrong jacobian_backward: the Jacobian of
# -         backward(out, np.eye(len(out.value))[i])
# +         backward(out, np.ones(len(out.value)))


# %% wrong jacobian_backward: the Jacobian of
# -         leaf = Value(x)
# +         leaf = Value(np.ones_like(x))


# %% wrong jacobian_backward: it returns a node
# -     return np.stack(rows)
# +     return Value(np.stack(rows))


# %% right jacobian_backward
def jacobian_backward(f, x):
    size, rows = f(Value(x)).value.size, []
    for direction in np.identity(size):
        leaf = Value(np.array(x))
        backward(f(leaf), direction)
        rows.append(leaf.grad if leaf.grad is not None else 0 * x)
    return np.array(rows)


# %% wrong push: the tangent is no dual of that layer
# -     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
# +     values = [a.value if isinstance(a, Dual) else a for a in values]
# +     return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)


# %% wrong product_jvp: raises ValueError: no
def product_jvp(product, x, y, tx, ty):
    raise ValueError("no")
