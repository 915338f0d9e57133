package process

import "time"

// typing is what is typed at a terminal. Closing it ends the input.
type typing struct{ *terminal }

func (t typing) Write(p []byte) (int, error) { return t.master.Write(p) }

func (t typing) SetWriteDeadline(end time.Time) error { return t.master.SetWriteDeadline(end) }

func (t typing) Close() error {
	t.endInput()
	return nil
}
