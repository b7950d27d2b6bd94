# %% cuda_loss
def cuda_loss(x, y, w):
    return ((x * w.cuda() - y) ** 2).mean().cpu()


# %% cuda_blocks
cuda_blocks = 8


# %% cuda_doubled
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    if i < out_.size:
        out_[i] = 2 * x_[i]


# %% cuda_tanh_backward
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.grid(1)
    if i < dx_.size:
        dx_[i] = g_[i] * (1 - out_[i] * out_[i])
