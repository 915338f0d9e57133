//go:build !linux

package main

import "context"

// peakBytes works on Linux only, which reports the peak memory of a process.
func peakBytes(context.Context, string, []string, ...string) (float64, error) {
	return 0, absent("peak memory is measured on Linux")
}
