# %% kernel_bytes
kernel_bytes = 24_000_000


# %% kernel_loop
def kernel_loop(x_, out_):
    for i in range(out_.size):
        x = x_[i]
        out_[i] = x / (1 + abs(x))


# %% kernel_narrow
def kernel_narrow(x):
    return np.float32(1) / (np.float32(1) + np.float32(0.5) * x * x)
