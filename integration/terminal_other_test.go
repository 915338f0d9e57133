//go:build !linux

package integration_test

// terminal is available on Linux only.
func terminal() { panic("no terminal to open on this platform") }
