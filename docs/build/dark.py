"""Colours of pictures in the site's dark mode, taken from the dark theme of drawings."""

from viz.layout.themes import THEMES


def rules(under: str = '[data-md-color-scheme="slate"] ') -> str:
    """Return the CSS rules for pictures on a dark page, for elements under a selector; "" is for any."""
    theme = THEMES["dark"]
    made = [f".t-{name}{{fill:{style.colour}}}" for name, style in theme.texts.items()]
    made += [f".l-{name}{{fill:{look.fill};stroke:{look.stroke}}}" for name, look in theme.looks.items()]
    return "\n".join(f"{under}.minigrad {rule}" for rule in made) + "\n"
