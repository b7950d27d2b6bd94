# %% values saved_at_zero
0.1745  # right
0.17  # right
0.175  # right
1.0  # not right
-1.746  # that is x
-0.9847  # that is the result of sin
0.0  # that is the gradient

# %% values saved_bytes_of_product
12000  # right
16000  # once
8000  # factors
3000  # each has 4 bytes

# %% changes saved_bytes_of_product
# saved_bytes_of_product = 3 * 1000 * 4
#   -> x = torch.ones(1000, requires_grad=True); saved_bytes_of_product = torch.tensor(3 * x.nbytes)  # right


# %% right SavedTanh
class SavedTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(result := x.tanh())
        return result

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output - grad_output * ctx.saved_tensors[0].square()


# %% changes SavedTanh
# ctx.save_for_backward(result := x.tanh()) -> ctx.x = x
#   return result -> return x.tanh()
#   return grad_output - grad_output * ctx.saved_tensors[0].square()
#   -> return grad_output * (1 - ctx.x.tanh() ** 2)  # save_for_backward
# ctx.save_for_backward(result := x.tanh()) -> ctx.save_for_backward(x)
#   return result -> return x.tanh()
#   return grad_output - grad_output * ctx.saved_tensors[0].square()
#   -> (x,) = ctx.saved_tensors; return grad_output * (1 - x.tanh() ** 2)  # the result
# ctx.save_for_backward(result := x.tanh()) -> result = x.tanh(); ctx.save_for_backward(x, result)
#   return grad_output - grad_output * ctx.saved_tensors[0].square()
#   -> _, result = ctx.saved_tensors; return grad_output * (1 - result**2)  # 2 tensors are saved
# drop e = (2 * x).exp()
#   result = (e - 1) / (e + 1) -> result = x.tanh()
#   return grad_output * (1 - result**2) -> return 1 - result**2  # the gradient
# e = (2 * x).exp() -> result = x.tanh()
#   result = (e - 1) / (e + 1) -> ctx.x = x  # as ctx.x besides

# %% values saved_then_changed
lambda x: 3 * torch.exp(x)  # right

# %% changes saved_then_changed
# drop doubled = e * 2
#   return doubled + e -> return e + 2 * e  # right
# doubled = e * 2 -> doubled = e.clone()
#   return doubled + e -> e.mul_(2); return doubled + e / 2 * 2 - doubled + doubled  # modified by an inplace operation
# e = x.exp() -> e = x.exp().clone()
#   doubled = e * 2 -> doubled = e.mul_(2)  # is 4
# drop e = x.exp()
#   doubled = e * 2 -> e = x.exp().detach()
#   return doubled + e -> return e * 2 + e  # does not require grad

# %% values saved_less
lambda x: torch.exp(6 * x)  # right

# %% changes saved_less
# return (6 * x).exp() -> return x.exp() ** 6  # right
# return (6 * x).exp() -> e = x.exp(); return e * e**2 * e**3  # 48 bytes are saved
# return (6 * x).exp() -> return (6 * x.detach()).exp()  # does not require grad
# return (6 * x).exp() -> return (4 * x).exp() * (2 * x).exp()  # 24 bytes are saved
# return (6 * x).exp() -> return x.exp() + (2 * x).exp() + (3 * x).exp()  # the result
