# %% reading_bytes
reading_bytes = (3 + 1) * 1_000_000 * 4


# %% reading_roofline
def reading_roofline(bytes_moved, bandwidth, operations, peak):
    return max(bytes_moved / bandwidth, operations / peak)


# %% reading_backward
def reading_backward(g, x, y, dx, dy):
    for i in range(g.size):
        g_i, x_i, y_i = g[i], x[i], y[i]
        gx_i = g_i * x_i
        dx[i] = 2 * gx_i * y_i
        dy[i] = gx_i * x_i
