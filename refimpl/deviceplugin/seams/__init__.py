"""Where our fakes of the device plugin interfaces can be bent from outside, by what is bent."""
