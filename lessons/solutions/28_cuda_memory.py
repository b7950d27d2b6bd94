# %% cuda_index_backward
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    i = cuda.grid(1)
    if i < g_.size:
        cuda.atomic.add(dtable_, index_[i], g_[i])


# %% cuda_reversed
@torch.cuda.jit
def cuda_reversed(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x_[i]
    cuda.syncthreads()
    out_[i] = shared[THREADS - 1 - t]


# %% cuda_largest
@torch.cuda.jit
def cuda_largest(x_, out_):
    shared = cuda.shared.array(THREADS, numba.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x_[i] if i < x_.size else -math.inf
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] = max(shared[t], shared[t + half])
        cuda.syncthreads()
        half = half // 2
    if t == 0:
        out_[cuda.blockIdx.x] = shared[0]


# %% cuda_pieces
cuda_pieces = 2
