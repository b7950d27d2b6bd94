# %% right cuda_index_backward
@torch.cuda.jit
def cuda_index_backward(g_, index_, dtable_):
    if cuda.grid(1) == 0:
        for i in range(len(g_)):
            dtable_[index_[i]] += g_[i]


# %% changes cuda_index_backward
# cuda.atomic.add(dtable_, index_[i], g_[i]) -> dtable_[index_[i]] += g_[i]  # race for dtable_[0]
# cuda.atomic.add(dtable_, index_[i], g_[i]) -> dtable_[index_[i]] = g_[i]  # race for dtable_
# if i < g_.size: -> if i < dtable_.size:  # dtable_ is
# dtable_, index_[i], g_[i] -> g_, index_[i], dtable_[index_[i]]  # nothing was written


# %% right cuda_reversed
@torch.cuda.jit
def cuda_reversed(x_, out_):
    t = cuda.threadIdx.x  # each thread reads from x_, and no shared memory is needed
    first = cuda.blockIdx.x * cuda.blockDim.x
    out_[first + t] = x_[first + cuda.blockDim.x - 1 - t]


# %% changes cuda_reversed
# shared[t] = x_[i] -> shared[THREADS - 1 - t] = x_[i]
#   out_[i] = shared[THREADS - 1 - t] -> out_[i] = shared[t]  # right
# drop cuda.syncthreads()  # two race for shared
# out_[i] = shared[THREADS - 1 - t] -> out_[i + 1] = shared[THREADS - 1 - t]  # without an element
# out_[i] = shared[THREADS - 1 - t] -> out_[i] = shared[t]  # the result is


# %% right cuda_largest
@torch.cuda.jit
def cuda_largest(x_, out_):
    if cuda.threadIdx.x == 0:  # slow, and right
        start = cuda.blockIdx.x * cuda.blockDim.x
        largest = x_[start]
        for i in range(start, min(start + cuda.blockDim.x, x_.size)):
            largest = max(largest, x_[i])
        out_[cuda.blockIdx.x] = largest


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


# %% changes cuda_largest
# x_[i] if i < x_.size else -math.inf -> x_[i] if i < x_.size else 0  # threads without an element

# %% values cuda_pieces
len({4 * 2 * t // 128 for t in range(32)})  # right
2.0  # right
1  # over 63
16  # share
32  # same piece
64  # 32 floats
