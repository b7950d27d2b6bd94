# %% nested_gradients
nested_gradients = [1 + 10 * 4.0, 1 + 10 * 3.0]


# %% NestedScale
class NestedScale(NestedIOFunction):
    def forward_extended(self, tensors, factor):
        self.save_for_backward(tensors, factor)
        return {name: t * factor for name, t in tensors.items()}

    def backward_extended(self, grads):
        tensors, factor = self.saved_tensors
        grad_tensors = {name: g * factor for name, g in grads.items()}
        return grad_tensors, sum((g * tensors[name]).sum() for name, g in grads.items())


# %% NestedDistance
class NestedDistance(NestedIOFunction):
    def forward_extended(self, point, other):
        self.save_for_backward(point, other)
        return (point["x"] - other[0]) ** 2 + (point["y"] - other[1]) ** 2

    def backward_extended(self, grad_output):
        point, other = self.saved_tensors
        gx = grad_output * 2 * (point["x"] - other[0])
        gy = grad_output * 2 * (point["y"] - other[1])
        return {"x": gx, "y": gy}, [-gx, -gy]


# %% nested_squares
class HalfSquares(Function):
    @staticmethod
    def forward(ctx, *tensors):
        ctx.save_for_backward(*tensors)
        return sum((t**2).sum() for t in tensors) / 2

    @staticmethod
    def backward(ctx, grad_output):
        return tuple(grad_output * t for t in ctx.saved_tensors)


def nested_squares(params):
    tensors = []
    for value in params.values():
        tensors += value if isinstance(value, list) else [value]
    return HalfSquares.apply(*tensors)
