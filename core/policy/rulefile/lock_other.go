//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package rulefile

// tryLock locks nothing where the platform has no locks: what another process
// saves is still noticed before the file is replaced.
func tryLock(string) (unlock func(), err error) { return func() {}, nil }
