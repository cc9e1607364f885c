"""The files of a store on a disk: parts, manifests, locks, and writes that survive a crash."""
