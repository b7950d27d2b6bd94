# %% values kernel_bytes
24e6  # right
12_000_000  # one loop
16_000_000  # reads it again
6_000_000  # 4 bytes

# %% changes kernel_bytes
# kernel_bytes = 24_000_000 -> x = np.zeros(1_000_000, np.float32); kernel_bytes = (2 + 1 + 2 + 1) * x.nbytes  # right


# %% right kernel_loop
@njit
def kernel_loop(x_, out_):
    for i in range(len(x_)):
        out_[i] = x_[i] / (1.0 + math.fabs(x_[i]))


# %% wrong kernel_loop: as a whole
def kernel_loop(x_, out_):
    out_[:] = x_ / (1 + abs(x_))


# %% wrong kernel_loop: returned
def kernel_loop(x_, out_):
    results = []
    for i in range(out_.size):
        results.append(x_[i] / (1 + abs(x_[i])))
    return results


# %% wrong kernel_loop: read before
# -     out_[:] = x_ / (1 + abs(x_))
# +     for i in out_:
# +         out_[i] = x_[i] / (1 + abs(x_[i]))

# %% changes kernel_loop
# drop @njit
#   for i in range(len(x_)): -> for i, x in enumerate(x_):
#   out_[i] = x_[i] / (1.0 + math.fabs(x_[i])) -> out_[i] = x / (1 + np.abs(x))  # right
# drop x = x_[i]
#   out_[i] = x / (1 + abs(x)) -> out_[i] = x_[i] / (1 + x_[i] * x_[i])  # out_ is
# x = x_[i] -> x_[i] = x_[i] / (1 + abs(x_[i]))
#   out_[i] = x / (1 + abs(x)) -> out_[i] = x_[i]  # written to
# for i in out_: -> for i in reversed(range(out_.size)):  # 'reversed'
# for i in out_: -> for i in range(out_.size + 1):  # behind the last element

# %% changes kernel_narrow
# return np.float32(1) / (np.float32(1) + np.float32(0.5) * x * x)
#   -> two = np.float32(2); return two / (two + x * x)  # right
# return np.float32(1) / (np.float32(1) + np.float32(0.5) * x * x)
#   -> x = np.float32(x); return (np.float32(1) + x * x / np.float32(2)) ** np.float32(-1)  # right
# return np.float32(1) / (np.float32(1) + np.float32(0.5) * x * x) -> return 1 / (1 + 0.5 * x * x)  # float64 result
# return np.float32(1) -> return 1  # one step has
# np.float32(0.5) * x -> x  # the result for 2
