// Package sandbox starts commands in Linux namespaces of their own.
//
// A [Session] has user, process, IPC and, unless the network is shared, network namespaces, which
// its commands share: a server that one command leaves running can be reached and ended by the
// next. They end with the Session, and with this process, however it ends. Each command has its own
// mount namespace. In it everything is read-only except for chosen directories, the home
// directories, /run and /tmp are replaced, and /dev and /proc show little of the machine.
//
// The command itself runs in a second, nested user namespace. It has no capability in the namespace
// that owns its mounts, so it cannot change them. A seccomp filter also refuses the system calls
// that would be needed, and the caller adds a Landlock ruleset.
//
// The mounts are made by a child that shares the memory of this process and performs a prepared list
// of system calls before it executes the command. A failed step ends the child, and nothing is
// started.
//
// A writable directory can be an [Overlay]: changes then go to another directory.
//
// A [Tree] finds the protected names that commands create where none existed before, a [Guard] those in
// overlays.
package sandbox

import "fmt"

// Error is the step that failed, and the reason.
type Error struct {
	Step string // such as "mount tmpfs on /run"
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Options configure a [Session].
type Options struct {
	// Home is the user's home directory, which commands do not see except for the paths in
	// [Rules.Readable] and the table of [Toolchains]. "": only the other home directories are
	// hidden.
	Home string
	// Network shares the network of this process. false: commands have a loopback interface of
	// their own, and no other.
	Network bool
}

// Rules are the permissions of one command. All paths are absolute and contain no links, except for
// those in Readable.
type Rules struct {
	Writable  []string // directories in which it may write
	Readable  []string // paths that it sees although a parent is hidden; missing ones are skipped
	Protected []string // existing paths in Writable that it may not change
	Masked    []string // existing paths whose content it may not read
	Pinned    []string // existing directories in Writable that it may not move or remove
	Temp      string   // its temporary directory, which is also mounted at /tmp; required
	ReadOnly  bool     // it may write only in Temp
	// Overlays replace directories in Writable. Not more than one command that may write in an overlay
	// runs at a time.
	Overlays []Overlay
	// Ruleset returns the descriptor of a Landlock ruleset, to which the command's terminals are
	// added with the given access, and a function that releases it. nil: there is no ruleset.
	Ruleset func() (fd int, access uint64, release func(), err error)
}

// Overlay shows a directory together with the changes in another one, in the format of overlayfs with
// its option userxattr. Commands see neither Upper nor Work, nor Dir without the changes.
type Overlay struct {
	Dir   string // no file system is mounted below it; required
	Upper string // receives changes; not in a writable directory; required
	Work  string // an empty directory on the file system of Upper; required
}
