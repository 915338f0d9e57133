package process

import "time"

// typing writes to a child's terminal. Closing it types the end of input.
type typing struct {
	*child
	part bool // the last input was a partial line
}

func (t *typing) Write(p []byte) (int, error) {
	n, err := t.terminal.master.Write(p)
	if n > 0 {
		t.part = p[n-1] != '\n' && p[n-1] != '\r'
	}
	return n, err
}

func (t *typing) SetWriteDeadline(end time.Time) error {
	return t.terminal.master.SetWriteDeadline(end)
}

func (t *typing) Close() error {
	if t.part {
		t.terminal.typeEnd()
	}
	t.terminal.closeInput(t.silent)
	return nil
}
