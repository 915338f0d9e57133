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
	// maxPrinted is the maximum output of a command in an agent file, in bytes.
	maxPrinted = 64 << 10
	// drain is how long background processes of a command may keep its output open.
	drain = 2 * time.Second
)

// run runs a command of the user's own agent file and returns its output. Output of more than maxPrinted bytes is an
// error. run does not wait for background processes of the command.
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
		err = nil // the command succeeded, but left a background process
	}
	if out.over {
		err = fmt.Errorf("the command printed more than %d KiB", maxPrinted>>10)
	}
	return out.buf.String(), err
}

// printed collects the output of a command, up to a limit. It is written to by one goroutine.
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
