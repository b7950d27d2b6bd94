# %% values kernel_bytes
24e6  # right
12_000_000  # one loop
16_000_000  # reads it again
6_000_000  # 4 bytes

# %% right kernel_bytes
x = np.zeros(1_000_000, np.float32)
kernel_bytes = (2 + 1 + 2 + 1) * x.nbytes


# %% right kernel_loop
@njit
def kernel_loop(x_, out_):
    for i in range(len(x_)):
        out_[i] = x_[i] / (1.0 + math.fabs(x_[i]))


# %% right kernel_loop
def kernel_loop(x_, out_):
    for i, x in enumerate(x_):
        out_[i] = x / (1 + np.abs(x))


# %% wrong kernel_loop: as a whole
def kernel_loop(x_, out_):
    out_[:] = x_ / (1 + abs(x_))


# %% wrong kernel_loop: returned
def kernel_loop(x_, out_):
    results = []
    for i in range(out_.size):
        results.append(x_[i] / (1 + abs(x_[i])))
    return results


# %% wrong kernel_loop: out_ is
def kernel_loop(x_, out_):
    for i in range(out_.size):
        out_[i] = x_[i] / (1 + x_[i] * x_[i])


# %% wrong kernel_loop: written to
def kernel_loop(x_, out_):
    for i in range(out_.size):
        x_[i] = x_[i] / (1 + abs(x_[i]))
        out_[i] = x_[i]


# %% wrong kernel_loop: 'reversed'
def kernel_loop(x_, out_):
    for i in reversed(range(out_.size)):
        out_[i] = x_[i] / (1 + abs(x_[i]))


# %% wrong kernel_loop: read before
# -     for i in reversed(range(out_.size)):
# +     for i in out_:

# %% wrong kernel_loop: behind the last element
# -     for i in reversed(range(out_.size)):
# +     for i in range(out_.size + 1):


# %% right kernel_narrow
def kernel_narrow(x):
    two = np.float32(2)
    return two / (two + x * x)


# %% right kernel_narrow
def kernel_narrow(x):
    x = np.float32(x)
    return (np.float32(1) + x * x / np.float32(2)) ** np.float32(-1)


# %% wrong kernel_narrow: float64 result
def kernel_narrow(x):
    return 1 / (1 + 0.5 * x * x)


# %% wrong kernel_narrow: one step has
def kernel_narrow(x):
    return 1 / (np.float32(1) + np.float32(0.5) * x * x)


# %% wrong kernel_narrow: the result for 2
def kernel_narrow(x):
    return np.float32(1) / (np.float32(1) + x * x)
