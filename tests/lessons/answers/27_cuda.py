# %% right cuda_blocks
cuda_blocks = -(-1000 // 128)

# %% right cuda_blocks
cuda_blocks = blocks_for(1000, 128)

# %% right cuda_blocks
cuda_blocks = math.ceil(1000 / 128)

# %% wrong cuda_blocks: 104
cuda_blocks = 1000 // 128

# %% wrong cuda_blocks: whole
cuda_blocks = 1000 / 128

# %% wrong cuda_blocks: are enough
cuda_blocks = 1000 // 128 + 2


# %% right cuda_doubled
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= len(x_):
        return
    out_[i] = x_[i] + x_[i]


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


# %% right cuda_doubled
@cuda.jit(device=True)
def twice(x):
    return 2 * x


@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    if i < out_.size:
        out_[i] = twice(x_[i])


# %% wrong cuda_doubled: was not written
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.threadIdx.x
    if i < out_.size:
        out_[i] = 2 * x_[i]


# %% wrong cuda_doubled: without an element
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    out_[i] = 2 * x_[i]


# %% wrong cuda_doubled: @torch.cuda.jit
@cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    if i < out_.size:
        out_[i] = 2 * x_[i]


# %% wrong cuda_doubled: @torch.cuda.jit
def cuda_doubled(x_, out_):
    for i in range(out_.size):
        out_[i] = 2 * x_[i]


# %% wrong cuda_doubled: without an element
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    if i <= out_.size:
        out_[i] = 2 * x_[i]


# %% wrong cuda_doubled: nothing was written
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    if i < out_.size:
        x_[i] = 2 * x_[i]


# %% wrong cuda_doubled: was not written
@torch.cuda.jit
def cuda_doubled(x_, out_):
    i = cuda.grid(1)
    if i < 10:
        out_[i] = 2 * x_[i]


# %% right cuda_tanh_backward
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.grid(1)
    if i < g_.size:
        out = out_[i]
        dx_[i] = g_[i] - g_[i] * out**2


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
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.grid(1)
    if i < dx_.size:
        dx_[i] = 1 - out_[i] * out_[i]


# %% wrong cuda_tanh_backward: dx_ is
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.grid(1)
    if i < dx_.size:
        dx_[i] = g_[i] * (1 - math.tanh(out_[i]) ** 2)


# %% wrong cuda_tanh_backward: without an element
@torch.cuda.jit
def cuda_tanh_backward(g_, out_, dx_):
    i = cuda.grid(1)
    dx_[i] = g_[i] * (1 - out_[i] * out_[i])


# %% right cuda_index_backward
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    for i in range(cuda.grid(1), index_.size, cuda.gridsize(1)):
        cuda.atomic.add(dtable_, index_[i], g_[i])


# %% right cuda_index_backward
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    k = cuda.grid(1)  # no two threads write one element, so nothing has to be atomic
    if k < dtable_.size:
        for i in range(g_.size):
            if index_[i] == k:
                dtable_[k] += g_[i]


# %% right cuda_index_backward
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    if cuda.grid(1) == 0:
        for i in range(len(g_)):
            dtable_[index_[i]] += g_[i]


# %% wrong cuda_index_backward: race for dtable_[0]
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    i = cuda.grid(1)
    if i < g_.size:
        dtable_[index_[i]] += g_[i]


# %% wrong cuda_index_backward: race for dtable_
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    i = cuda.grid(1)
    if i < g_.size:
        dtable_[index_[i]] = g_[i]


# %% wrong cuda_index_backward: dtable_ is
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    i = cuda.grid(1)
    if i < dtable_.size:
        cuda.atomic.add(dtable_, index_[i], g_[i])


# %% wrong cuda_index_backward: nothing was written
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    i = cuda.grid(1)
    if i < g_.size:
        cuda.atomic.add(g_, index_[i], dtable_[index_[i]])


# %% right cuda_largest
@torch.cuda.jit
def cuda_largest(x_, out_):
    if cuda.threadIdx.x == 0:  # slow, and right
        start = cuda.blockIdx.x * cuda.blockDim.x
        largest = x_[start]
        for i in range(start, min(start + cuda.blockDim.x, x_.size)):
            largest = max(largest, x_[i])
        out_[cuda.blockIdx.x] = largest


# %% right cuda_largest
@torch.cuda.jit
def cuda_largest(x_, out_):
    shared = cuda.shared.array(8, dtype=numba.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i < x_.size:
        shared[t] = x_[i]
    else:
        shared[t] = -1e30
    cuda.syncthreads()
    for half in (4, 2, 1):
        if t < half and shared[t + half] > shared[t]:
            shared[t] = shared[t + half]
        cuda.syncthreads()
    if t == 0:
        out_[cuda.blockIdx.x] = shared[0]


# %% right cuda_largest
@torch.cuda.jit
def cuda_largest(x_, out_):
    b, i = cuda.blockIdx.x, cuda.grid(1)
    if cuda.threadIdx.x == 0:
        out_[b] = x_[i]
    cuda.syncthreads()
    if i < x_.size:
        cuda.atomic.max(out_, b, x_[i])


# %% right cuda_largest
@torch.cuda.jit
def cuda_largest(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    here = min(THREADS, x_.size - cuda.blockIdx.x * THREADS)
    if t < here:
        shared[t] = x_[i]
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        if t % (2 * step) == 0 and t + step < here:
            shared[t] = max(shared[t], shared[t + step])
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out_[cuda.blockIdx.x] = shared[0]


# %% wrong cuda_largest: threads without an element
@torch.cuda.jit
def cuda_largest(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x_[i] if i < x_.size else 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] = max(shared[t], shared[t + half])
        cuda.syncthreads()
        half = half // 2
    if t == 0:
        out_[cuda.blockIdx.x] = shared[0]


# %% wrong cuda_largest: the result
@torch.cuda.jit
def cuda_largest(x_, out_):
    if cuda.threadIdx.x == 0:
        out_[cuda.blockIdx.x] = x_[cuda.grid(1)]


# %% wrong cuda_largest: without an element
@torch.cuda.jit
def cuda_largest(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x_[i]
    cuda.syncthreads()
    if t == 0:
        largest = shared[0]
        for k in range(THREADS):
            largest = max(largest, shared[k])
        out_[cuda.blockIdx.x] = largest
