//go:build !linux && !darwin && !windows

package commit

func isNoSpace(error) bool { return false }

func isReadOnly(error) bool { return false }

func isMountPoint(error) bool { return false }
