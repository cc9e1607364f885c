"""The package that tasks on the interface of DESPITE import; put the folder above on the path."""
