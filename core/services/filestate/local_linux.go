package filestate

import (
	"os"

	"golang.org/x/sys/unix"
)

// isLocal reports whether f is on a file system whose times this machine sets. On network and
// user-space file systems another clock may set them, or they may lag behind.
func isLocal(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	local := false
	err = raw.Control(func(fd uintptr) {
		var st unix.Statfs_t
		if unix.Fstatfs(int(fd), &st) != nil {
			return
		}
		switch uint32(st.Type) {
		case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
			unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.CODA_SUPER_MAGIC:
			return
		}
		local = true
	})
	return err == nil && local
}
