# %% values inplace_dragged
15.0  # right
torch.tensor(15.0)  # right
30.0  # not right
0.0  # that is the value of the result, not the gradient
5.0  # the write multiplies by 3 as well
3.0  # that is the gradient of x after the first operation

# %% values inplace_gradient
(30, 6, 6)  # right
torch.tensor([30.0, 6.0, 6.0])  # right
[10, 2, 2]  # the last write
[6.0, 6.0, 6.0]  # changes x, too
30.0  # shape

# %% values inplace_refused
("sqrt", "exp")  # right
{"exp", "sqrt"}  # right
["exp", "cos"]  # -sin(x)
["neg", "exp", "sqrt"]  # saves nothing
["exp"]  # 1 more is missing
["square", "sqrt"]  # its input
"exp"  # several answers in a list

# %% values inplace_repaired
lambda x: ((x.sigmoid() - 0.5) ** 2).sum()  # right

# %% changes inplace_repaired
# drop s = x.sigmoid()
#   s = s - 0.5 -> s = torch.sub(torch.sigmoid(x), 0.5)
#   return (s * s).sum() -> return s @ s  # right
# s = s - 0.5 -> s.sub_(0.5)
#   return (s * s).sum() -> return s.square().sum()  # modified by an inplace operation
# s = x.sigmoid() -> s = x.sigmoid().detach()
#   s = s - 0.5 -> s -= 0.5  # does not require grad
# drop s = s - 0.5  # the result
# s = s - 0.5 -> s.data -= 0.5  # the gradient

# %% changes inplace_column
# y = x.clone() -> y = x * 1
#   y[:, 0] *= 2 -> y[:, 0].mul_(2)  # right
# y[:, 0] *= 2 -> y[:, :1] = x[:, :1] * 2  # right
# y = x.clone() -> y = x.detach().clone()  # cut the graph
# drop y = x.clone()
#   y[:, 0] *= 2 -> x[:, 0].mul_(2)
#   return y -> return x  # has changed
# y = x.clone() -> y = x.view(x.shape)
#   y[:, 0] *= 2 -> y[:, 0].mul_(2)  # a copy
# y[:, 0] *= 2 -> y[0].mul_(2)  # the result
# y[:, 0] *= 2 -> y.data[:, 0] *= 2  # the gradient
