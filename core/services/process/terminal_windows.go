package process

import (
	"errors"
	"os"
	"time"
)

// TerminalsExist reports whether this system supports Command.PTY.
const TerminalsExist = false

// terminal is never created on Windows.
type terminal struct{ master, tty *os.File }

func openTerminal(int, int) (*terminal, error) {
	return nil, errors.New("terminals for commands are not supported on Windows")
}

func (t *terminal) endInput(func() time.Duration) {}

func (t *terminal) closeInput(func() time.Duration) {}

func (t *terminal) typeEnd() {}

func (t *terminal) stopFeeding() {}
