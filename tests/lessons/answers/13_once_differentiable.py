# %% values second_missed
72  # right
torch.tensor([72.0])  # right
108  # counts as a constant
36.0  # missing term
0  # 2 * y


# %% right SecondRoot
class SecondRoot(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sqrt()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (2 * x.sqrt())


# %% wrong SecondRoot: raises an error
class SecondRoot(Function):
    @staticmethod
    def forward(ctx, x):
        root = x.sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (root,) = ctx.saved_tensors
        return grad_output * 0.5 / root


# %% changes SecondRoot
# ctx.save_for_backward(root) -> ctx.save_for_backward(x, root)
#   (root,) = ctx.saved_tensors -> x, root = ctx.saved_tensors
#   return grad_output * 0.5 / root -> return 0.5 * grad_output * root / x  # right
# ctx.save_for_backward(root) -> ctx.save_for_backward(0.5 / root)
#   (root,) = ctx.saved_tensors -> (slope,) = ctx.saved_tensors
#   return grad_output * 0.5 / root -> return grad_output * slope  # no history
# return grad_output * 0.5 / root -> return grad_output * root  # gradient
# return grad_output * 0.5 / root -> return grad_output * (0.5 / root).detach()  # history


# %% right OnceExp
class OnceExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = np.exp(x.numpy())
        return torch.tensor(ctx.result)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output * torch.tensor(ctx.result)


# %% changes OnceExp
# drop @once_differentiable  # decorator
# return torch.tensor(grad_output.detach().numpy() * result.detach().numpy())
#   -> return grad_output.detach().numpy() * result.detach().numpy()  # as a NumPy array
# drop (result,) = ctx.saved_tensors
#   torch.tensor(grad_output.detach().numpy() * result.detach().numpy()) -> ctx.saved_tensors[0]  # gradient

# %% changes second_penalty
# drop (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
#   return (slope * slope).sum() -> return torch.autograd.grad(f(x), x, create_graph=True)[0].pow(2).sum()  # right
# drop (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
#   return (slope * slope).sum() -> return (torch.func.grad(f)(x) ** 2).sum()  # right
# (slope,) = torch.autograd.grad(f(x), x, create_graph=True) -> (slope,) = torch.autograd.grad(f(x), x)
#   return (slope * slope).sum() -> return (slope**2).sum()  # has no history
# (slope,) = torch.autograd.grad(f(x), x, create_graph=True) -> f(x).backward(create_graph=True)
#   return (slope * slope).sum() -> return (x.grad**2).sum()  # .grad
# return (slope * slope).sum() -> return slope.sum()  # the penalty is
# (slope,) -> x = x.detach().requires_grad_(); (slope,)
#   return (slope * slope).sum() -> return (slope**2).sum()  # pass x itself
# return (slope * slope).sum() -> (slope**2).sum()  # return


# %% right second_and_more
def second_and_more(f, at, n):
    def derivative(x, n):
        if n == 0:
            return f(x)
        return torch.autograd.grad(derivative(x, n - 1), x, create_graph=True)[0]

    return derivative(torch.tensor(float(at), requires_grad=True), n)


# %% changes second_and_more
# (y,) = torch.autograd.grad(y, x, create_graph=True) -> (y,) = torch.autograd.grad(y, x)  # create_graph
# for _ in range(n): -> for _ in range(n + 1):  # derivative 0
# (y,) = torch.autograd.grad(y, x, create_graph=True) -> y.backward(create_graph=True); y = x.grad  # derivative 2
