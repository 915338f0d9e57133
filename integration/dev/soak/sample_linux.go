package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// descriptors counts the open descriptors of this process.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries) - 1 // the one that reads the directory
}

// children counts the child processes that have not been waited for.
func children() int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return -1
	}
	n := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has exited
		}
		var state string
		var parent int
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err == nil && parent == os.Getpid() {
			n++
		}
	}
	return n
}

// resident returns the resident memory of this process, in bytes.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	var size, pages int64
	if err == nil {
		_, err = fmt.Sscan(string(data), &size, &pages)
	}
	if err != nil {
		return -1
	}
	return pages * int64(os.Getpagesize())
}
