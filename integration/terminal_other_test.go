//go:build !linux

package integration_test

// terminal is there on Linux only.
func terminal() { panic("no terminal to open on this platform") }
