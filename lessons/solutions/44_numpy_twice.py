# %% NumpyTanh
class NumpyTanh(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.tanh(to_numpy(x)))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y**2)


# %% NumpyCumsum
class NumpyCumsum(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.cumsum(to_numpy(x), axis=0))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return NumpyCumsum.apply(grad_output.flip(0)).flip(0)


# %% NumpySolve
class NumpySolve(torch.autograd.Function):
    @staticmethod
    def forward(A, b):
        return torch.tensor(np.linalg.solve(to_numpy(A), to_numpy(b)))

    @staticmethod
    def setup_context(ctx, inputs, output):
        A, b = inputs
        ctx.save_for_backward(A, output)

    @staticmethod
    def backward(ctx, grad_output):
        A, x = ctx.saved_tensors
        grad_b = NumpySolve.apply(A.T, grad_output)
        return -torch.outer(grad_b, x), grad_b
