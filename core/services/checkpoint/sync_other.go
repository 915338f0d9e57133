//go:build !linux

package checkpoint

// syncsAll: each new file is put on the disk by itself.
const syncsAll = false

func syncAll(string) error { return nil }
