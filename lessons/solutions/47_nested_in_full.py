# %% nested_keywords
nested_keywords = [3, 2]


# %% NestedPolar
class NestedPolar(NestedIOFunction):
    def forward_extended(self, point, name):
        self.save_for_forward(point)
        return {"x": point["r"] * point["phi"].cos(), "y": point["r"] * point["phi"].sin(), "name": name}

    @staticmethod
    def jvp(ctx, tangents, _):
        (point,) = ctx.saved_tensors
        r, phi = point["r"], point["phi"]
        x = tangents["r"] * phi.cos() - r * phi.sin() * tangents["phi"]
        y = tangents["r"] * phi.sin() + r * phi.cos() * tangents["phi"]
        return {"x": x, "y": y, "name": None}


# %% NestedClamp
class NestedClamp(NestedIOFunction):
    def forward_extended(self, tensors):
        kept = {name: (t.abs() <= 1).float() for name, t in tensors.items()}
        for t in tensors.values():
            t.clamp_(-1, 1)
        self.mark_dirty(tensors)
        self.mark_non_differentiable(kept)
        self.save_for_backward(kept)
        return tensors, kept

    def backward_extended(self, grads, _):
        (kept,) = self.saved_tensors
        return ({name: g * kept[name] for name, g in grads.items()},)
