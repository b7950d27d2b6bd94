# %% changes product_jvp
# return product(tx, y) + product(x, ty)
#   -> return Value(product(tx, y).value + product(x, ty).value)  # has lost its way to x
# return product(tx, y) + product(x, ty) -> return product(tx, y)  # that does not change: add product(x, ty)
# return product(tx, y) + product(x, ty) -> return product(x, ty)  # that does not change: add product(tx, y)
# return product(tx, y) + product(x, ty) -> return product(tx, ty)  # the product of the two tangents
# return product(tx, y) + product(x, ty) -> return product(tx, y) + product(x, ty) + product(tx, ty)  # of second order
# return product(tx, y) + product(x, ty) -> return product(tx, y) - product(x, ty)  # the terms are subtracted
# return product(tx, y) + product(x, ty) -> return product(x, y)  # it is the value of the product
# product(tx, y) + product(x, ty) -> product(tx, x) + product(ty, y)  # value of the factor that it belongs to
# return product(tx, y) + product(x, ty) -> return product(y, tx) + product(ty, x)  # the tangent of x @ y
# return product(tx, y) + product(x, ty) -> product(tx, y) + product(x, ty)  # is None
# return product(tx, y) + product(x, ty) -> return x.value * ty.value + tx.value * y.value  # compute with nodes
# return product(tx, y) + product(x, ty) -> return tx * y + x * ty  # x @ y
# return product(tx, y) + product(x, ty) -> through_y = product(x, ty); return through_y + product(tx, y)  # right
# return product(tx, y) + product(x, ty) -> raise ValueError("no")  # raises ValueError: no

# %% wrong push: the constant has the tangent 1
# -     tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) for a in args]
# +     tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) + 1.0 for a in args]

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

# %% wrong push: the tangent is no dual of that layer
#       out = run(function, *values)
# +     values = [a.value if isinstance(a, Dual) else a for a in values]

# %% values push
lambda layer, function, *args: push(layer, function, *args)  # calls itself without end

# %% changes push
# else zeros_like(a) for a in args -> else 0.0 for a in args  # that of a constant is zeros
# return Dual(out, rule_of(function)(out, *values, *tangents), layer, args, function)
#   -> return rule_of(function)(out, *values, *tangents)  # expected a Dual
# return Dual -> Dual  # it returns None
# rule_of(function)(out, *values, *tangents) -> tangents[0]  # never calls the rule
# values, -> args,  # the rule receives duals
# out, rule_of(function)(out, *values, *tangents) -> rule_of(function)(out, *values, *tangents), out  # are swapped
# values, *tangents -> values  # TypeError
# layer, args, function -> layer  # give the Dual its parents
# values, *tangents -> values, *tangents[::-1]  # the tangent for
# tangents = [a.tangent if isinstance(a, Dual) and a.layer is layer else zeros_like(a) for a in args]
#   -> tangents = [a.tangent for a in args]  # AttributeError
# values, *tangents -> values, *[2 * t for t in tangents]  # the tangent for
# out = run(function, *values) -> out = function.apply(*values)  # Compute the value with run
# layer.inside(a) -> a.value if isinstance(a, Dual) else a  # no dual of that layer
# layer, args -> Forward(), args  # the Dual is of another layer

# %% wrong jvp: f receives arguments that are no duals
def jvp(f, xs, vs):
    first = f(Dual(xs[0], vs[0], Forward()), *xs[1:])
    return first.value, first.tangent

# %% wrong jvp: it calls f 2 times
def jvp(f, xs, vs):
    layer = Forward()
    value = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
    tangent = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)])
    return (value.value, tangent.tangent) if isinstance(value, Dual) else (value, zeros_like(value))

# %% changes jvp
# return out.value, out.tangent -> return out  # expected two nodes
# return out.value, out.tangent -> return out.tangent, out.value  # value and tangent are swapped
# return out.value, out.tangent -> return out.tangent  # expected two nodes
# v, -> v * 0.0 + 1.0,  # the direction of ones
# v, -> x,  # the values went in as tangents
# first = f(Dual(xs[0], vs[0], Forward()), *xs[1:]) -> layer = Forward()
#   return first.value, first.tangent
#   -> out = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)]); return out.value, out.tangent  # AttributeError
# return out, zeros_like(out) -> return out, out  # the tangent of a function that ignores its argument
# return out.value, out.tangent -> return out.value, out.tangent * 2.0  # the tangent is
# x, v, -> v, x,  # the value is
# return out.value, out.tangent -> return out.value.value, out.tangent.value  # expected a node
# isinstance(out, Dual) or out.layer is not layer -> isinstance(out, Dual)  # tangents of two calls are mixed
# v, layer -> v, Forward()  # have two layers
# out = f -> xs.append(vs); out = f  # xs or vs has changed
# value = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)]) -> out = f(*(Dual(x, v, layer) for x, v in zip(xs, vs)))
#   tangent = f(*[Dual(x, v, layer) for x, v in zip(xs, vs)]) -> own = isinstance(out, Dual) and out.layer is layer
#   return (value.value, tangent.tangent) if isinstance(value, Dual) else (value, zeros_like(value))
#   -> return (layer.inside(out), out.tangent if own else zeros_like(out))  # right

# %% wrong jacobian_forward: use jvp
def jacobian_forward(f, x):
    rows = []
    for i in range(len(f(Value(x)).value)):
        leaf = Value(x)
        out = f(leaf)
        backward(out, np.eye(len(out.value))[i])
        rows.append(leaf.grad)
    return np.stack(rows)

# %% values jacobian_forward
lambda f, x: np.array([jvp(f, [Value(x)], [Value(e)])[1].value for e in np.identity(x.size)]).T  # right

# %% wrong jacobian_forward: it is exact
def jacobian_forward(f, x):
    at = lambda p: f(Value(p)).value
    return np.stack([(at(x + 1e-6 * d) - at(x - 1e-6 * d)) / 2e-6 for d in np.eye(len(x))], axis=1)

# %% changes jacobian_forward
# return np.stack(columns, axis=1) -> return list(np.stack(columns, axis=1))  # expected an array
# return np.stack(columns, axis=1) -> return np.stack(columns)  # transposed
# return np.stack(columns, axis=1) -> return sum(columns)  # one row or column, or their sum
# return np.stack(columns, axis=1) -> return columns[0]  # one row or column, or their sum
# return np.stack(columns, axis=1) -> np.stack(columns, axis=1)  # returns None
# jvp(f, [Value(x)], [Value(direction)])[1] -> jvp(f, [Value(x)], [Value(direction)])[0]  # the Jacobian of
# return np.stack(columns, axis=1) -> return np.stack(columns[::-1], axis=1)  # the Jacobian of
# jvp(f, [Value(x)], [Value(direction)])[1].value -> jvp(f, [Value(x)], [Value(direction)])[1]
#   return np.stack(columns, axis=1) -> return np.array(columns, dtype=object)  # the array holds nodes
# np.eye(len(x)) -> np.ones((len(x), len(x)))  # the Jacobian of
# Value(x) -> Value(direction)  # the Jacobian of
# np.eye(len(x)) -> np.eye(len(x))[:-1]  # the Jacobian of

# %% wrong jacobian_backward: one row or column, or their sum
def jacobian_backward(f, x):
    leaf = Value(x)
    out = f(leaf)
    backward(out, np.ones(len(out.value)))
    return leaf.grad

# %% right jacobian_backward
def jacobian_backward(f, x):
    size, rows = f(Value(x)).value.size, []
    for direction in np.identity(size):
        leaf = Value(np.array(x))
        backward(f(leaf), direction)
        rows.append(leaf.grad if leaf.grad is not None else 0 * x)
    return np.array(rows)

# %% values jacobian_backward
lambda f, x: np.stack([jvp(f, [Value(x)], [Value(e)])[1].value for e in np.eye(len(x))], axis=1)  # use backward

# %% changes jacobian_backward
# return np.stack(rows) -> return np.stack(rows, axis=1)  # transposed
# rows = [] -> rows, leaf = [], Value(x)
#   drop leaf = Value(x)
#   np.zeros(len(x)) if leaf.grad is None else leaf.grad -> np.array(leaf.grad)  # .grad adds up
# return np.stack(rows) -> np.stack(rows)  # returns None
# np.zeros(len(x)) if leaf.grad is None else leaf -> leaf  # the Jacobian of a function that ignores its argument
# return np.stack(rows) -> return np.stack(rows[::-1])  # the Jacobian of
# backward(out, np.eye(len(out.value))[i]) -> backward(out, 2 * np.eye(len(out.value))[i])  # the Jacobian of
# backward(out, np.eye(len(out.value))[i]) -> backward(out, np.ones(len(out.value)))  # the Jacobian of
# leaf = Value(x) -> leaf = Value(np.ones_like(x))  # the Jacobian of
# return np.stack(rows) -> return Value(np.stack(rows))  # it returns a node
