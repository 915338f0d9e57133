//go:build !linux

package workspace

// openDirectory opens the folder at path, whose links are followed.
func openDirectory(path string) (directory, error) { return openRootDirectory(path) }
