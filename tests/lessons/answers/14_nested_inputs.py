# %% values nested_gradients
(41, 31)  # right
{"b": 31.0, "a": 41.0}  # right
[31.0, 41.0]  # swapped
[5.0, 4.0]  # product is 10
[40, 30]  # the sum
41.0  # two numbers


# %% right NestedScale
class NestedScale(NestedIOFunction):
    def forward_extended(self, tensors, factor):
        self.tensors, self.factor = tensors, factor
        return {name: t * factor for name, t in tensors.items()}

    def backward_extended(self, grads):
        by_factor = [(grads[k] * self.tensors[k]).sum() for k in grads]
        return [{k: grads[k] * self.factor for k in grads}, torch.stack(by_factor).sum()]


# %% wrong NestedScale: the gradient of factor
# -         grad_tensors = {name: g * factor for name, g in grads.items()}
# -         return grad_tensors, sum((g * tensors[name]).sum() for name, g in grads.items())
# +         return {n: g * factor for n, g in grads.items()}, grads["a"] * tensors["a"]

# %% wrong NestedScale: the gradient of factor
# -         return {n: g * factor for n, g in grads.items()}, grads["a"] * tensors["a"]
# +         return {name: g * factor for name, g in grads.items()}, sum(g.sum() for g in grads.values())

# %% wrong NestedScale: gradient of a
# -         return {n: g * factor for n, g in grads.items()}, grads["a"] * tensors["a"]
# +         return {name: factor.expand_as(g) for name, g in grads.items()}, sum(t.sum() for t in tensors.values())

# %% changes NestedScale
# return {n: g * factor for n, g in grads.items()}, grads["a"] * tensors["a"]
#   -> return {name: g * factor for name, g in grads.items()}  # gradients, expected 4
# sum(g.sum() for g in grads.values()) -> None  # the gradient of factor


# %% right NestedDistance
class NestedDistance(NestedIOFunction):
    def forward_extended(self, point, other):
        self.save_for_backward([point, other])
        return sum((a - b) ** 2 for a, b in zip(point.values(), other))

    def backward_extended(self, grad_output):
        ((point, other),) = self.saved_tensors
        by_point = {name: 2 * (t - o) * grad_output for (name, t), o in zip(point.items(), other)}
        return by_point, [-g for g in by_point.values()]


# %% wrong NestedDistance: gradient of x
# -         gx = grad_output * 2 * (point["x"] - other[0])
# -         gy = grad_output * 2 * (point["y"] - other[1])
# -         return {"x": gx, "y": gy}, [-gx, -gy]
# +         dx, dy = point["x"] - other[0], point["y"] - other[1]
# +         return {"x": 2 * dx, "y": 2 * dy}, [-2 * dx, -2 * dy]

# %% changes NestedDistance
# return {"x": 2 * dx, "y": 2 * dy}, [-2 * dx, -2 * dy]
#   -> return {"x": 2 * dx * grad_output, "y": 2 * dy * grad_output}, [-2 * dy * grad_output]  # expected 4
# drop gx = grad_output * 2 * (point["x"] - other[0])
#   gy = grad_output * 2 * (point["y"] - other[1])
#   -> gx, gy = [2 * grad_output * d for d in (point["x"] - other[0], point["y"] - other[1])]
#   return {"x": gx, "y": gy}, [-gx, -gy] -> return {"x": gx, "y": gy}, [-gy, -gx]  # gradient of u


# %% right nested_squares
class HalfSquareOfRow(Function):
    @staticmethod
    def forward(ctx, row):
        ctx.save_for_backward(row)
        return row.dot(row) / 2

    @staticmethod
    def backward(ctx, g):
        (row,) = ctx.saved_tensors
        return g * row


def nested_squares(params):
    tensors = [t for v in params.values() for t in (v if isinstance(v, list) else [v])]
    return HalfSquareOfRow.apply(torch.cat([t.reshape(-1) for t in tensors]))


# %% wrong nested_squares: no Function of your own
def nested_squares(params):
    tensors = [t for v in params.values() for t in (v if isinstance(v, list) else [v])]
    return sum((t**2).sum() for t in tensors) / 2


# %% wrong nested_squares: contains a tensor
class HalfOfDict(Function):
    @staticmethod
    def forward(ctx, params):
        return sum((t**2).sum() for t in params.values()) / 2

    @staticmethod
    def backward(ctx, g):
        return g


def nested_squares(params):
    return HalfOfDict.apply(params)


# %% wrong nested_squares: gradient
class Twice(HalfSquares):
    @staticmethod
    def backward(ctx, grad_output):
        return tuple(grad_output * 2 * t for t in ctx.saved_tensors)


def nested_squares(params):
    tensors = [t for v in params.values() for t in (v if isinstance(v, list) else [v])]
    return Twice.apply(*tensors)


# %% wrong nested_squares: outside
class Passing(Function):
    @staticmethod
    def forward(ctx, total):
        return total / 2

    @staticmethod
    def backward(ctx, g):
        return g / 2


def nested_squares(params):
    tensors = [t for v in params.values() for t in (v if isinstance(v, list) else [v])]
    return Passing.apply(sum((t**2).sum() for t in tensors))


# %% wrong nested_squares: NestedIOFunction
class HalfNested(NestedIOFunction):
    def forward_extended(self, params):
        self.save_for_backward(params)
        return sum((t**2).sum() for v in params.values() for t in (v if isinstance(v, list) else [v])) / 2

    def backward_extended(self, g):
        (params,) = self.saved_tensors
        return [g * t for v in params.values() for t in (v if isinstance(v, list) else [v])]


def nested_squares(params):
    return HalfNested.apply(params)


# %% changes nested_squares
# drop tensors = [t for v in params.values() for t in (v if isinstance(v, list) else [v])]
#   return sum((t**2).sum() for t in tensors) / 2 -> return HalfSquares.apply(*params.values())  # list
