//go:build !linux

package process

// machineFeatures returns none: they are features of Linux.
func machineFeatures(string) map[string]Feature { return nil }
