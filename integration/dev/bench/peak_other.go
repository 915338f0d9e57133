//go:build !linux

package main

import "context"

// peakBytes is for Linux, which says how much memory a process took at most.
func peakBytes(context.Context, string, []string, ...string) (float64, error) {
	return 0, absent("peak memory is measured on Linux")
}
