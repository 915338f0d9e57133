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

// confined starts one command as [Options].Confinement says.
type confined struct{ s *Service }

// begin starts a command.
func (c *confined) begin(cmd *exec.Cmd) error { return cmd.Start() }

// halt ends what runs of a command elsewhere than in its processes.
func (c *confined) halt() {}

// ended is told how the process that was begun has ended.
func (c *confined) ended(Exit) {}

// failure returns why a command that has been begun did not run after all.
func (c *confined) failure(Result) error { return nil }

// scratch is the temporary folder of the confined commands of a Service.
type scratch struct{}

// remove removes the folder.
func (t *scratch) remove() error { return nil }
