# %% values compile_count
3.0  # right
int(repr(halved).split()[-2])  # right
5  # floats
2  # int
1  # anew

# %% changes compile_limited
# drop length = (x * x).sum().sqrt()
#   return torch.where(length > 1, x / length, x) -> return x / (x * x).sum().sqrt().clamp(min=1)  # right
# length = (x * x).sum().sqrt() -> squared = (x**2).sum()
#   torch.where(length > 1, x / length, x) -> x * torch.where(squared > 1, 1 / squared.sqrt(), 1.0)  # right
# drop length = (x * x).sum().sqrt()
#   return torch.where(length > 1, x / length, x) -> return x / (x * x).sum().sqrt()  # expected 0.3
# return torch.where(length > 1, x / length, x) -> return x / max(length.item(), 1.0)  # not compiled
# length = (x * x).sum().sqrt() -> length = (x * x).sum().sqrt().detach()  # gradient

# %% changes compile_noted
# drop loss = ((x * w).sum() - 1) ** 2
#   (dw,) = torch.autograd.grad(loss, w) -> error = (x * w).sum() - 1
#   return loss, dw -> return error * error, 2 * error * x  # right
# drop (dw,) = torch.autograd.grad(loss, w)
#   return loss, dw -> return [loss, *torch.autograd.grad(loss, [w])]  # right
# return loss, dw -> return dw  # two things
# return loss, dw -> return dw, loss  # comes first
# (dw,) = torch.autograd.grad(loss, w) -> losses.append(loss); (dw,) = torch.autograd.grad(loss, w)  # not compiled
