//go:build !unix

package extensionstore

import "os/exec"

// endWithChildren does nothing: the system ends the children.
func endWithChildren(*exec.Cmd) {}
