# %% right cuda_loss
def cuda_loss(x, y, w):
    return ((x.cpu() * w - y.cpu()) ** 2).mean()  # moves more numbers, and is right


# %% right cuda_loss
def cuda_loss(x, y, w):
    return torch.nn.functional.mse_loss(x * w.cuda(), y).cpu()


# %% wrong cuda_loss: same device
def cuda_loss(x, y, w):
    return ((x * w - y) ** 2).mean().cpu()


# %% wrong cuda_loss: move it back
def cuda_loss(x, y, w):
    return ((x * w.cuda() - y) ** 2).mean()


# %% wrong cuda_loss: cut the graph
def cuda_loss(x, y, w):
    return ((x * w.item() - y) ** 2).mean().cpu()


# %% wrong cuda_loss: a number has no gradient
def cuda_loss(x, y, w):
    return ((x * w.cuda() - y) ** 2).mean().item()


# %% wrong cuda_loss: the loss is
def cuda_loss(x, y, w):
    return ((x * w.cuda() - y) ** 2).sum().cpu()


# %% values cuda_blocks
-(-1000 // 128)  # right
blocks_for(1000, 128)  # right
1000 // 128  # 104
1000 / 128  # whole
1000 // 128 + 2  # are enough


# %% right cuda_doubled
@torch.cuda.jit
def cuda_doubled(x_, out_):
    for i in range(cuda.grid(1), x_.shape[0], cuda.gridsize(1)):
        out_[i] = x_[i] * 2.0


# %% right cuda_doubled
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    if i < x_.size:
        out_[i] = x_[i] * np.float32(2)


# %% wrong cuda_doubled: was not written
# -     i = cuda.grid(1)
# +     i = cuda.threadIdx.x


# %% wrong cuda_doubled: without an element
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    out_[i] = 2 * x_[i]


# %% wrong cuda_doubled: @torch.cuda.jit
def cuda_doubled(x_, out_):
    for i in range(out_.size):
        out_[i] = 2 * x_[i]


# %% wrong cuda_doubled: nothing was written
# -         out_[i] = 2 * x_[i]
# +         x_[i] = 2 * x_[i]


# %% right cuda_tanh_backward
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
    if i < len(dx_):
        dx_[i] = (1.0 + out_[i]) * (1.0 - out_[i]) * g_[i]


# %% right cuda_tanh_backward
@torch.cuda.jit
def cuda_tanh_backward(g, out, dx):
    start, step = cuda.grid(1), cuda.gridsize(1)
    for i in range(start, dx.shape[0], step):
        dx[i] = g[i] / math.cosh(math.atanh(out[i])) ** 2


# %% wrong cuda_tanh_backward: dx_ is
# -         dx_[i] = g_[i] * (1 - out_[i] * out_[i])
# +         dx_[i] = 1 - out_[i] * out_[i]


# %% wrong cuda_tanh_backward: without an element
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.grid(1)
    dx_[i] = g_[i] * (1 - out_[i] * out_[i])
