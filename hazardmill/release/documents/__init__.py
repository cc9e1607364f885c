"""The documents of a release, written for people: card, citation, licences, changelog."""
