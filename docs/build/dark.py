"""The colours that pictures on a page have in the dark: those of the dark theme of pictures."""

from viz.themes import THEMES


def rules() -> str:
    """The rules of CSS for the dark theme of the site."""
    theme = THEMES["dark"]
    made = [f".t-{name}{{fill:{style.colour}}}" for name, style in theme.texts.items()]
    made += [f".l-{name}{{fill:{look.fill};stroke:{look.stroke}}}" for name, look in theme.looks.items()]
    return "\n".join(f'[data-md-color-scheme="slate"] .minigrad {rule}' for rule in made) + "\n"
