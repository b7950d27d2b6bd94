# %% values reading_bytes
16_000_000  # right
1.6e7  # right
12_000_000  # leaves out the result
4_000_000  # has 4 bytes
32_000_000  # eager operations

# %% values reading_roofline
lambda b, bandwidth, n, peak: np.maximum(b / bandwidth, n / peak)  # right


# %% right reading_roofline
def reading_roofline(bytes_moved, bandwidth, operations, peak):
    moving, computing = bytes_moved / bandwidth, operations / peak
    return moving if moving > computing else computing


# %% changes reading_roofline
# max(bytes_moved / bandwidth, operations / peak) -> bytes_moved / bandwidth + operations / peak  # do not add
# max -> min  # the slower one
# max(bytes_moved / bandwidth, operations / peak) -> bytes_moved / bandwidth  # the arithmetic takes longer
# return max -> max  # is there a return


# %% right reading_backward
def reading_backward(g, x, y, dx, dy):
    for i in range(len(g)):
        gi, xi = g[i], x[i]
        dx[i], dy[i] = gi * 2 * xi * y[i], gi * xi * xi


# %% wrong reading_backward: x is read
def reading_backward(g, x, y, dx, dy):
    for i in range(g.size):
        gi = g[i]
        dx[i] = 2 * x[i] * y[i] * gi
        dy[i] = x[i] * x[i] * gi


# %% wrong reading_backward: used as a whole
def reading_backward(g, x, y, dx, dy):
    dx[:] = 2 * x * y * g
    dy[:] = x * x * g


# %% changes reading_backward
# for i in range(len(g)): -> for i in range(g.size):
#   dx[i], dy[i] = gi * 2 * xi * y[i], gi * xi * xi -> dx[i] = gi * xi * y[i]; dy[i] = gi * xi * xi  # dx
# for i in range(len(g)): -> for i in range(g.size):
#   dx[i], dy[i] = gi * 2 * xi * y[i], gi -> dx[i] += 2 * gi * xi * y[i]; dy[i] += gi  # dx is not written completely
# gi = g[i] -> xi = x[i]
#   dx[i] = 2 * x[i] * y[i] * gi -> dx[i] = 2 * xi * y[i] * g[i]
#   dy[i] = x[i] * x[i] * gi -> dy[i] = xi * xi * g[i]  # g is read 2 times
# for i in range(len(g)): -> for i in range(g.size - 1):
#   dx[i], dy[i] = gi * 2 * xi * y[i], gi * xi * xi -> dx[i] = 2 * gi * xi * y[i]; dy[i] = gi * xi * xi  # completely
