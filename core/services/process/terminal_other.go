//go:build unix && !linux

package process

// wantsEnd reports whether the end of input is to be typed: once, as it cannot
// be told here whether it has been read. A program that throws away what was
// typed before it asks then waits for its limit.
func (t *terminal) wantsEnd(first bool) bool { return first }
