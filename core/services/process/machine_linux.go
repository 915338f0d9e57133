package process

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// machineFeatures tests the features of Linux by name.
func machineFeatures(dir string) map[string]Feature {
	all := map[string]Feature{}
	if abi, err := landlockABI(); err == nil {
		all["landlock"] = Feature{Works: true, Detail: fmt.Sprintf("ABI %d", abi)}
	}
	actions, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	all["seccomp"] = tested("", "", strings.TrimSpace(string(actions)), err)
	systems, err := os.ReadFile("/proc/filesystems")
	if err == nil && !strings.Contains(string(systems), "\toverlay\n") {
		err = fmt.Errorf("the kernel does not list overlay")
	}
	all["overlay"] = tested("", "", "listed by the kernel", err)
	all["leases"] = tested("", "", "on this file system", withFile(dir, func(path string) error {
		file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // a temporary file
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // nothing was written
		_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		return err
	}))
	all["exchange"] = tested("", "", "on this file system", withFile(dir, func(one string) error {
		return withFile(dir, func(other string) error {
			return unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
		})
	}))
	return all
}
