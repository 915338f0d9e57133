//go:build !linux

package keychain

import "runtime"

// offered reports whether the system has a keychain.
func offered() bool { return runtime.GOOS == "darwin" || runtime.GOOS == "windows" }
