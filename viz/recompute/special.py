"""Special functions for pages, in double precision: series and reflections, as expressions.

The form of the definitions is that of definitions.py. Sums and products of a series are taken over a last dimension.
Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6 and 9.
"""

PUBLIC = {
    "lgamma": "like(log_gamma(double(input)), input)",
    "digamma": "like(psi(double(input)), input)",
    "special.zeta": "like(hurwitz(*broadcast_tensors(double(input), double(other))), input * other)",
    "polygamma": (
        "digamma(input) if n == 0 else trigamma(input) if n == 1 else"
        " like(hurwitz(full_like(double(input), n + 1.0), double(input)) * sign_factorial(n), input)"
    ),
    "i0": "like(scaled_bessel(0, abs(double(input))) * exp(abs(double(input))), input)",
    "special.i1": "like(sign(double(input)) * scaled_bessel(1, abs(double(input))) * exp(abs(double(input))), input)",
    "special.i0e": "like(scaled_bessel(0, abs(double(input))), input)",
    "special.i1e": "like(sign(double(input)) * scaled_bessel(1, abs(double(input))), input)",
}

WORDS = {
    "double(t)": "tensor(t, dtype=float64)",
    "like(t, given)": "t.to((tensor(given) * 1.0).dtype)",
    "steps(t, n)": "t.unsqueeze(-1) + arange(n, dtype=float64)",
    "series(t, factors)": "(t.unsqueeze(-1) ** arange(length(factors)) * tensor(factors, dtype=float64)).sum(-1)",
    # gamma: the asymptotic series from 10 on, products and sums of steps below, reflection below 1/2 or 0
    "log_gamma(x)": (
        "where(abs(x) == inf, inf, where((x == 1) | (x == 2), 0.0, where(x < 0.5, log(pi / abs(sin(pi * (x - round(x)))))"
        " - log_gamma_above(1 - x), log_gamma_above(where(x < 0.5, 1.0, x)))))"
    ),
    "log_gamma_above(z)": (
        "where(z < 10, stirling_series(z + 10) - log(steps(where(z < 10, z, 1.0), 10).prod(-1)), stirling_series(z))"
    ),
    "stirling_series(z)": (
        "(z - 0.5) * log(z) - z + 0.9189385332046728"
        " + series(1 / z**2, [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360]) / z"
    ),
    "psi(x)": (
        "where(x == 0, copysign(inf, -x), where((x < 0) & (x == floor(x)), nan, where(x < 0, psi_above(1 - x)"
        " - pi / tan(pi * (x - floor(x))), psi_above(where(x < 0, 1.0, x)))))"
    ),
    "psi_above(z)": (
        "log(z + 10) - 0.5 / (z + 10) - (1 / steps(z, 10)).sum(-1)"
        " - series(1 / (z + 10) ** 2, [0, 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12])"
    ),
    "trigamma(t)": "like(trigamma_of(double(t)), t)",
    "trigamma_of(x)": (
        "where(x < 0.5, (pi / sin(pi * (x - round(x)))) ** 2 - hurwitz(full_like(x, 2.0), where(x < 0.5, 1 - x, 1.0)),"
        " hurwitz(full_like(x, 2.0), where(x < 0.5, 1.0, x)))"
    ),
    # ten terms, then the Euler-Maclaurin formula with (2k)! / B(2k), as in Cephes
    "hurwitz(s, q)": (
        "where(s == 1, inf, where(s < 1, nan, where((q <= 0) & (q == floor(q)), inf, where((q <= 0) & (s != floor(s)), nan,"
        " where((q == inf) & (s == s), 0.0, where((s != s) | (q != q), nan, where(s == inf, where(q == 1, 1.0,"
        " where(q > 1, nan, inf)), terms_of_zeta(where(abs(s) < inf, s, 2.0), where(abs(q) < inf, q, 1.0)))))))))"
    ),
    "terms_of_zeta(s, q)": "first_terms(s, q, cat((ceil(-q).reshape(-1), zeros(1, dtype=float64))).max().item() + 10)",
    "first_terms(s, q, n)": (
        "(steps(q, n) ** -s.unsqueeze(-1)).sum(-1) + (q + n) ** -s * ((q + n) / (s - 1) + 0.5 + euler_maclaurin(s, q + n))"
    ),
    "euler_maclaurin(s, a)": (
        "(rising(s) / a.unsqueeze(-1) ** (2 * arange(12) + 1) / tensor([12, -720, 30240, -1209600, 47900160,"
        " -1892437580.3183791606, 74724249600, -2950130727918.164224, 116467828143500.67249, -4597978722407472.6105,"
        " 181521054019435467.73, -7166165256175667011.3], dtype=float64)).sum(-1)"
    ),
    "rising(s)": "steps(s, 23).cumprod(-1)[..., ::2]",  # s, s (s + 1) (s + 2), ...
    # Bessel functions times exp(-a): the power series, from 30 on the asymptotic one
    "scaled_bessel(n, a)": (
        "where(a == inf, 0.0, where(a > 30, far_bessel(n, where((a > 30) & (a < inf), a, 40.0)),"
        " near_bessel(n, where(a > 30, 1.0, a))))"
    ),
    "near_bessel(n, a)": (
        "exp(-a) * (a / 2) ** n * (1 + ((a.unsqueeze(-1) ** 2 / 4) / (counted(120) * (counted(120) + n))).cumprod(-1).sum(-1))"
    ),
    "far_bessel(n, a)": (
        "(1 + (((2 * counted(29) - 1) ** 2 - 4 * n * n) / (8 * a.unsqueeze(-1) * counted(29))).cumprod(-1).sum(-1))"
        " / sqrt(2 * pi * a)"
    ),
    "counted(n)": "arange(n, dtype=float64) + 1",
}
