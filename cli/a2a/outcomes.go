package a2a

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	protocol "github.com/a2aproject/a2a-go/a2a"
)

// outcomesFile is the file in the side directory of a recorded session with the outcomes of its tasks, a line of JSON
// each.
const outcomesFile = "a2a-tasks.jsonl"

// outcome is a task that has ended, as it is kept for a time after a restart.
type outcome struct {
	ID     protocol.TaskID    `json:"id"`
	State  protocol.TaskState `json:"state"`
	Reason string             `json:"reason,omitempty"` // text of the status message
	Answer string             `json:"answer,omitempty"`
	Time   time.Time          `json:"time"`
}

// keepOutcome appends the outcome of a task to the file in dir, the side directory of its session.
func keepOutcome(dir string, o outcome) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, outcomesFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// outcomeOf returns the kept outcome of a task. A line that a crash left incomplete is ignored.
func outcomeOf(dir string, id protocol.TaskID) (found outcome, ok bool) {
	f, err := os.Open(filepath.Join(dir, outcomesFile))
	if err != nil {
		return outcome{}, false
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return found, ok
		}
		var o outcome
		if json.Unmarshal(line, &o) == nil && o.ID == id && o.State.Terminal() {
			found, ok = o, true
		}
	}
}

// ended returns a task that ended before a restart.
func (o outcome) ended(session string) *task {
	t := lostTask(o.ID, session)
	t.status = protocol.TaskStatus{State: o.State, Timestamp: &o.Time}
	if o.Reason != "" {
		t.status.Message = protocol.NewMessageForTask(protocol.MessageRoleAgent, t, protocol.TextPart{Text: o.Reason})
	}
	t.answer.WriteString(o.Answer)
	return t
}
