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


# %% wrong reading_roofline: do not add
def reading_roofline(bytes_moved, bandwidth, operations, peak):
    return bytes_moved / bandwidth + operations / peak


# %% wrong reading_roofline: the slower one
def reading_roofline(bytes_moved, bandwidth, operations, peak):
    return min(bytes_moved / bandwidth, operations / peak)


# %% wrong reading_roofline: the arithmetic takes longer
def reading_roofline(bytes_moved, bandwidth, operations, peak):
    return bytes_moved / bandwidth


# %% wrong reading_roofline: is there a return
def reading_roofline(bytes_moved, bandwidth, operations, peak):
    max(bytes_moved / bandwidth, operations / peak)


# %% right reading_backward
def reading_backward(g, x, y, dx, dy):
    for i in range(len(g)):
        gi, xi = g[i], x[i]
        dx[i], dy[i] = gi * 2 * xi * y[i], gi * xi * xi


# %% right reading_backward
def reading_backward(g, x, y, dx, dy):
    i = 0
    while i < g.shape[0]:
        v, u = x[i], g[i]
        dy[i] = v**2 * u
        dx[i] = 2 * v * y[i] * u
        i += 1


# %% wrong reading_backward: x is read
def reading_backward(g, x, y, dx, dy):
    for i in range(g.size):
        gi = g[i]
        dx[i] = 2 * x[i] * y[i] * gi
        dy[i] = x[i] * x[i] * gi


# %% wrong reading_backward: dx
def reading_backward(g, x, y, dx, dy):
    for i in range(g.size):
        gi, xi = g[i], x[i]
        dx[i] = gi * xi * y[i]
        dy[i] = gi * xi * xi


# %% wrong reading_backward: dx is not written completely
def reading_backward(g, x, y, dx, dy):
    for i in range(g.size):
        gi, xi = g[i], x[i]
        dx[i] += 2 * gi * xi * y[i]
        dy[i] += gi * xi * xi


# %% wrong reading_backward: used as a whole
def reading_backward(g, x, y, dx, dy):
    dx[:] = 2 * x * y * g
    dy[:] = x * x * g


# %% wrong reading_backward: g is read 2 times
def reading_backward(g, x, y, dx, dy):
    for i in range(g.size):
        xi = x[i]
        dx[i] = 2 * xi * y[i] * g[i]
        dy[i] = xi * xi * g[i]


# %% wrong reading_backward: completely
def reading_backward(g, x, y, dx, dy):
    for i in range(g.size - 1):
        gi, xi = g[i], x[i]
        dx[i] = 2 * gi * xi * y[i]
        dy[i] = gi * xi * xi
