//go:build !unix

package main

import "time"

var began = time.Now()

// used returns the time of the clock.
func used() time.Duration { return time.Since(began) }
