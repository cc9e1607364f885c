"""What a run will ask, cost and take, singly and in batches, worked out before anything is sent."""
