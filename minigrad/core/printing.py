"""How a tensor prints."""
def text(t):
    return f"tensor({t._a.tolist()})"
