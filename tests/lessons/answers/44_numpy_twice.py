# %% right NumpyTanh
class NumpyTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.from_numpy(np.asarray(np.tanh(x.numpy())))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)


# %% wrong NumpyTanh: second
class NumpyTanh(ArrayTanh):
    pass


# %% changes NumpyTanh
# ctx.save_for_backward(output) -> ctx.save_for_backward(inputs[0])
#   (y,) = ctx.saved_tensors -> (x,) = ctx.saved_tensors
#   return grad_output * (1 - y**2) -> return grad_output / torch.cosh(x) ** 2  # right
# return torch.tensor(np.tanh(to_numpy(x))) -> return torch.tanh(x)  # minigrad's
# return grad_output * (1 - y**2) -> return grad_output * (1 - y.detach() ** 2)  # the second derivative for argument 0
# return grad_output * (1 - y**2) -> return 1 - y**2  # the gradient
# return torch.tensor(np.tanh(to_numpy(x))) -> up, down = x.exp(), (-x).exp(); return (up - down) / (up + down)  # exp

# %% changes NumpyCumsum
# return NumpyCumsum.apply(grad_output.flip(0)).flip(0)
#   -> return grad_output.sum(0) - NumpyCumsum.apply(grad_output) + grad_output  # right
# return NumpyCumsum.apply(grad_output.flip(0)).flip(0)
#   -> return torch.flip(torch.cumsum(torch.flip(grad_output, (0,)), 0), (0,))  # right
# return NumpyCumsum.apply(grad_output.flip(0)).flip(0)
#   -> return torch.tensor(np.cumsum(to_numpy(grad_output)[::-1], axis=0)[::-1].copy())  # second ones fail
# return NumpyCumsum.apply(grad_output.flip(0)).flip(0) -> return NumpyCumsum.apply(grad_output)  # the gradient
# return NumpyCumsum.apply(grad_output.flip(0)).flip(0) -> NumpyCumsum.apply(grad_output.flip(0)).flip(0)  # is None


# %% right NumpySolve
class NumpySolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.tensor(np.linalg.solve(A.numpy(), b.numpy()))
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        A, x = ctx.saved_tensors
        grad_b = torch.linalg.solve(A.T, grad_output)
        return -grad_b[:, None] * x[None, :], grad_b


# %% values NumpySolve
lambda A, b: torch.linalg.solve(A, b)  # subclass

# %% changes NumpySolve
# grad_b = NumpySolve.apply(A.T, grad_output) -> grad_b = NumpySolve.apply(A, grad_output)  # the gradient of A
# grad_b = NumpySolve.apply(A.T, grad_output)
#   -> grad_b = torch.tensor(np.linalg.solve(to_numpy(A).T, to_numpy(grad_output)))  # second ones fail
# return -torch.outer(grad_b, x), grad_b -> return grad_b, -torch.outer(grad_b, x)  # shape
# return torch.tensor(np.linalg.solve(to_numpy(A), to_numpy(b))) -> return torch.linalg.solve(A, b)  # minigrad's
