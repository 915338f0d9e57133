package fork_test

import "golang.org/x/sys/unix"

func whiteout(path string) error { return unix.Mknod(path, unix.S_IFCHR, 0) }

func opaque(path string) error { return unix.Setxattr(path, "user.overlay.opaque", []byte("y"), 0) }
