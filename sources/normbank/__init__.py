"""NormBank: what is taboo, normal or expected in a setting, under which constraints."""
