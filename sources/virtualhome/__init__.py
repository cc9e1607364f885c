"""VirtualHome: what people do at home, as programs of household actions."""
