"""The processes of the jail: the warm parent, its forks, and the walls around them."""
