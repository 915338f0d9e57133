package standard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

const (
	// maxPrinted is how many bytes a command of an agent file may print.
	maxPrinted = 64 << 10
	// drain is how long what a command has left running may keep its output open.
	drain = 2 * time.Second
)

// run returns what a command of the user's own agent file prints, at most
// maxPrinted bytes: more is an error. What it starts in the background is not
// waited for.
func run(ctx context.Context, command string) (string, error) {
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	var out printed
	c := exec.CommandContext(ctx, shell, flag, command)
	c.Stdout, c.WaitDelay = &out, drain
	err := c.Run()
	if errors.Is(err, exec.ErrWaitDelay) && !out.over {
		err = nil // it ended well, but for what it left running
	}
	if out.over {
		err = fmt.Errorf("the command printed more than %d KiB", maxPrinted>>10)
	}
	return out.buf.String(), err
}

// printed keeps what a command prints, and refuses what is too much. It is
// written to by one goroutine.
type printed struct {
	buf  bytes.Buffer
	over bool
}

// Write implements io.Writer.
func (p *printed) Write(data []byte) (int, error) {
	if p.buf.Len()+len(data) > maxPrinted {
		p.over = true
		return 0, errors.New("too much output")
	}
	return p.buf.Write(data)
}
