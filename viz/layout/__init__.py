"""Where the cards stand, how they look, and the page on which they are drawn."""
