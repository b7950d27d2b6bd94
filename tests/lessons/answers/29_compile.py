# %% values compile_loops
2.0  # right
1 + 1  # right
1  # last term
3  # can also add them up
4  # once


# %% right compile_variance
@torch.compile
def compile_variance(x):
    return x.square().mean() - x.mean().square()


# %% changes compile_variance
# return (x * x).mean() - x.mean() ** 2 -> n = x.numel(); return ((x * x).sum() - x.sum() ** 2 / n) / n  # right
# return (x * x).mean() - x.mean() ** 2 -> return ((x - x.mean()) ** 2).mean()  # 2 loops over x
# return (x * x).mean() - x.mean() ** 2 -> return x @ x / x.numel() - x.mean() ** 2  # calls an operation
# return (x * x).mean() - x.mean() ** 2 -> return (x * x).mean() - x.mean()  # the result for 3 numbers
# return (x * x).mean() - x.mean() ** 2 -> return (x * x).mean() - x.mean().item() ** 2  # not compiled

# %% values compile_saved
1.0  # right
len({"x.exp()"})  # right
0  # the loop saves it
2  # added up
3  # exist already


# %% right compile_momentum
def compile_momentum(x, y, w, velocity, rate):
    dw, loss = torch.func.grad_and_value(lambda w: torch.nn.functional.mse_loss(x @ w, y))(w)
    with torch.no_grad():
        velocity *= 0.9
        velocity += dw
        w -= rate * velocity
    return loss


# %% wrong compile_momentum: velocity after step
# -     error = x @ w - y
# -     loss = (error * error).mean()
# +     loss = (x @ w - y).square().mean()
# -         velocity.mul_(0.9).add_(dw)
# +         velocity.mul_(0.9).add_(0.1 * dw)

# %% changes compile_momentum
# velocity.mul_(0.9).add_(0.1 * dw) -> velocity = 0.9 * velocity + dw  # velocity has not changed
# drop error = x @ w - y
#   loss = (error * error).mean() -> loss = (x @ w - y).square().mean()
#   drop return loss  # return the loss
# drop error = x @ w - y
#   loss = (error * error).mean() -> loss = (x @ w - y).square().mean()
#   w.sub_(rate * velocity) -> w.sub_(velocity)  # w after step
