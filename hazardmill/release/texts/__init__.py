"""The texts of a release: card, citation, licences, changelog."""
