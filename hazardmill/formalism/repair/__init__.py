"""The smallest change that makes a dangerous plan safe."""
