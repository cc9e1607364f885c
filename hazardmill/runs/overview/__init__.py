"""What a run says of itself: how long it will still take, and which models answer."""
