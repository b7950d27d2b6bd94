"""Remainders, and the quotient rounded down.

If n is x / y without its fraction, x - n * y is exact: it is a multiple of the last place of x or of y, and smaller than
both. n itself is off by one if rounding has raised x / y to the next integer, and is then corrected. Quotients so large that
n is not exact are rare, and go to the C library.
"""

from .lanes import Lane, call, function, has, plain, rarely, sign_of, two_product, where

MOST = (2.0**24, 2.0**53)  # integers up to here are exact in the precision
LARGE = (2.0**126, 2.0**1022)  # beyond, n * y might overflow


def is_too_large(x: Lane, y: Lane) -> Lane:
    """Return True if x / y is too large for n to be exact, or not a number."""
    return ~((abs(x) < abs(y) * x.pick(*MOST)) & (abs(x) < x.pick(*LARGE)))


def by_library(x: Lane, y: Lane) -> Lane:
    """Return the C library's fmod."""
    return x.new(x.b.frem(x.v, y.v))


def less_product(x: Lane, n: Lane, y: Lane) -> Lane:
    """Return x - n * y, rounded once."""
    if has("fma"):
        return x.new(x.b.fma((-n).v, y.v, x.v))
    p, lost = two_product(n, y)
    return plain(plain(x, "fsub", p), "fsub", lost)


def rest(x: Lane, y: Lane) -> Lane:
    """Return the remainder of x / y rounded towards zero, with the sign of x."""
    a, b = abs(x), abs(y)
    left = less_product(a, call("trunc", a / b), b)
    left = where(left < 0, left + b, left)
    return rarely("fmod", is_too_large, by_library, sign_of(where(a < b, a, left), x), x, y)


@function
def fmod(x, y):
    """Return the remainder of x / y rounded towards zero, with the sign of x."""
    return rest(x, y)


@function
def remainder(x, y):
    """Return the remainder of x / y rounded down, with the sign of y."""
    left = rest(x, y)
    other_side = ((left < 0) ^ (y < 0)) & (left != 0)
    return where(left == 0, sign_of(left, y), where(other_side, left + y, left))


@function
def floor_divide(x, y):
    """Return x / y rounded down, computed as (x - remainder) / y; an infinity or NaN if y is 0."""
    left = rest(x, y)
    other_side = ((left < 0) ^ (y < 0)) & (left != 0)
    quotient = plain((x - left) / y, "fsub", where(other_side, x.like(1.0), 0.0))
    down = call("floor", quotient)
    nearest = where(plain(quotient, "fsub", down) > 0.5, down + 1, down)
    return where(y == 0, x / y, where(nearest == 0, sign_of(x.like(0.0), x / y), nearest))
