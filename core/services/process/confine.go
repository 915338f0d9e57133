package process

import "os/exec"

// Confinement limits what commands may do to the machine. The zero value
// limits nothing.
type Confinement struct {
	Kind ConfinementKind

	// Writable are absolute folders in which commands may write, beside their
	// temporary folder. Every other folder can be read alone.
	Writable []string
	// NoTCP keeps commands from opening TCP connections. UDP, and with it DNS,
	// and Unix sockets stay open.
	NoTCP bool

	Program string // of a container: what runs it, as podman
	Image   string // of a container
}

// ConfinementKind says what confines commands.
type ConfinementKind string

// The kinds of confinement.
const (
	Unconfined ConfinementKind = ""
	Landlock   ConfinementKind = "landlock"  // the Linux kernel, by rules for the command's processes
	Container  ConfinementKind = "container" // a program that runs containers
)

// begin starts a command, confined as Options say.
func (s *Service) begin(cmd *exec.Cmd) error { return cmd.Start() }
