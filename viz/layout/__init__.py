"""The places and the look of cards, and the page on which they are drawn."""
