"""The contents of the cards in a picture: texts, formulas, heat maps and frames."""
