//go:build !unix

package workspace

import "os"

const openFlags = 0

func removeDir(root *os.Root, name string) error { return root.Remove(name) }
