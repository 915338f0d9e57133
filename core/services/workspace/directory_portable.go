//go:build !linux

package workspace

// openDirectory opens the directory at path. The caller checks it for links.
func openDirectory(path string) (directory, error) { return openRootDirectory(path) }
