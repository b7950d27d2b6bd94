# %% values jacobian_by_hand
((3, 2), (4, 0), (0, 1))  # right
torch.tensor([[3, 2], [4, 0], [0, 1]])  # right
[[3.0, 4.0, 0.0], [2.0, 0.0, 1.0]]  # swapped
[[2.0, 3.0], [4.0, 0.0], [0.0, 1.0]]  # expected 3
[3.0, 2.0, 4.0, 0.0, 0.0, 1.0]  # shape
[[3, 2], [2, 0], [0, 1]]  # expected 4

# %% values jacobian_modes
("jacrev", "jacfwd", "jacrev")  # right
"jacrev jacfwd jacrev".split()  # right
["jacfwd", "jacfwd", "jacrev"]  # 1 result
["jacrev", "jacfwd", "jacfwd"]  # 784
"jacrev"  # three words

# %% changes jacobian_diagonal
# return jvp(f, (x,), (torch.ones_like(x),))[1] -> return vjp(f, x)[1](torch.ones_like(x))[0]  # right
# return jvp(f, (x,), (torch.ones_like(x),))[1] -> return grad(lambda x: f(x).sum())(x)  # right
# return jvp(f, (x,), (torch.ones_like(x),))[1] -> return jacrev(f)(x)  # whole matrix
# return jvp(f, (x,), (torch.ones_like(x),))[1]
#   -> return jacfwd(f)(x).reshape(x.numel(), x.numel()).diagonal().reshape(x.shape)  # matrix of 300
# return jvp(f, (x,), (torch.ones_like(x),))[1] -> return grad(f)(x)  # your code raises
# return jvp(f, (x,), (torch.ones_like(x),))[1] -> return jvp(f, (x,), (x,))[1]  # expected 12

# %% values hessian_by_hand
((4, 2), (2, 12))  # right
hessian(lambda x: x[0] ** 2 * x[1] + x[1] ** 3)(torch.tensor([1.0, 2.0]))  # right
[4, 13]  # gradient
[[4, 0], [0, 12]]  # expected 2
[[4, 2], [2, 6]]  # expected 12
[4, 2, 2, 12]  # shape
