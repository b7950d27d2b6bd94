"""What stands on the cards of a picture: texts, formulas, heat maps and frames."""
