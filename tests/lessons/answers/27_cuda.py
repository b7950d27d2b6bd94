# %% right cuda_loss
def cuda_loss(x, y, w):
    return ((x.cpu() * w - y.cpu()) ** 2).mean()  # moves more numbers, and is right


# %% changes cuda_loss
# return ((x * w.cuda() - y) ** 2).mean().cpu() -> return torch.nn.functional.mse_loss(x * w.cuda(), y).cpu()  # right
# return ((x * w.cuda() - y) ** 2).mean().cpu() -> return ((x * w - y) ** 2).mean().cpu()  # same device
# return ((x * w.cuda() - y) ** 2).mean().cpu() -> return ((x * w.cuda() - y) ** 2).mean()  # move it back
# return ((x * w.cuda() - y) ** 2).mean().cpu() -> return ((x * w.item() - y) ** 2).mean().cpu()  # cut the graph
# ((x * w.cuda() - y) ** 2).mean().cpu -> ((x * w.cuda() - y) ** 2).mean().item  # a number has no gradient
# return ((x * w.cuda() - y) ** 2).mean().cpu() -> return ((x * w.cuda() - y) ** 2).sum().cpu()  # the loss is

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


# %% wrong cuda_doubled: without an element
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    out_[i] = 2 * x_[i]


# %% changes cuda_doubled
# i = cuda.grid(1) -> i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
#   if i < out_.size: -> if i < x_.size:
#   out_[i] = 2 * x_[i] -> out_[i] = x_[i] * np.float32(2)  # right
# i = cuda.grid(1) -> i = cuda.threadIdx.x  # was not written
# drop @torch.cuda.jit
#   for i in range(cuda.grid(1), x_.shape[0], cuda.gridsize(1)): -> for i in range(out_.size):
#   out_[i] = x_[i] * 2.0 -> out_[i] = 2 * x_[i]  # @torch.cuda.jit
# out_[i] = 2 * x_[i] -> x_[i] = 2 * x_[i]  # nothing was written


# %% right cuda_tanh_backward
@torch.cuda.jit
def cuda_tanh_backward(g, out, dx):
    start, step = cuda.grid(1), cuda.gridsize(1)
    for i in range(start, dx.shape[0], step):
        dx[i] = g[i] / math.cosh(math.atanh(out[i])) ** 2


# %% wrong cuda_tanh_backward: without an element
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.grid(1)
    dx_[i] = g_[i] * (1 - out_[i] * out_[i])


# %% changes cuda_tanh_backward
# i = cuda.grid(1) -> i = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
#   if i < dx_.size: -> if i < len(dx_):
#   dx_[i] = g_[i] * (1 - out_[i] * out_[i]) -> dx_[i] = (1.0 + out_[i]) * (1.0 - out_[i]) * g_[i]  # right
# dx_[i] = g_[i] * (1 - out_[i] * out_[i]) -> dx_[i] = 1 - out_[i] * out_[i]  # dx_ is
