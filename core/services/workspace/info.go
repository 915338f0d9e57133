package workspace

import "io/fs"

// Info is the system's description of a file.
type Info struct {
	Mode    fs.FileMode // type and permission bits
	Size    int64       // bytes; meaningful for regular files
	Dev     uint64      // with Ino the file's identity; both 0 if the platform has no reliable one
	Ino     uint64
	Nlink   uint64 // number of names; 0: removed; 1 if the platform does not report it
	MtimeNS int64  // last change of the content, in nanoseconds since 1970
	CtimeNS int64  // last change of content or attributes, likewise; 0 if the platform has none
}

// Identified reports whether Dev and Ino distinguish the file from all others.
func (i Info) Identified() bool { return i.Dev != 0 || i.Ino != 0 }
