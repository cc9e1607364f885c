"""The files of a store on disk: parts, manifests, locks, and writes that survive a crash."""
