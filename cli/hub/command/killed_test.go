package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/core/bus"
)

// HB-02: a worker dies while a command runs. Its job is resumed by the next worker, which does not
// run the command again unless an approver allows it.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	shell := `{"calls": [{"tool": "run_shell_command", "args": {"command": "echo ran >> ran; while [ -e wait ]; do sleep 0.05; done"}}]}`
	h, _ := newHub(t, fmt.Sprintf(`{"turns": [%s, {"text": "Finished."}]}`, shell))
	h.write("wait", "")
	first := h.worker("--approval-mode", "yolo")
	id := h.submit("Run it.")
	eventually(t, func() bool { return h.read("ran") == "ran\n" })
	first.kill()
	var asked []string
	questions := h.approver(func(q *natsbus.Question) bus.Answer {
		form := q.Message.(bus.AskUserRequest).Questions[0].Question
		asked = append(asked, form)
		if strings.Contains(form, "Run it again?") {
			return bus.AskUserResponse{CorrelationID: q.ID, Answers: map[string]string{"0": "no"}}
		}
		return yes(q)
	})
	h.worker("--approval-mode", "yolo")
	<-questions
	<-questions
	h.ends(id, "done")
	require.Len(t, asked, 2)
	require.Contains(t, asked[0], "echo ran >> ran")
	require.Equal(t, "ran\n", h.read("ran"))
	require.Equal(t, 2, h.job(id).Attempts)
	require.Contains(t, h.ok("logs", id), "no approver allowed to run it again")
	require.Contains(t, h.ok("verify"), "1 calls without an end")
}

// HB-02: without an approver, a job with a command in doubt ends, and the command is not repeated.
func TestKilledWorkerWithoutApprover(t *testing.T) {
	t.Parallel()
	h, _ := newHub(t, `{"turns": [{"calls": [{"tool": "run_shell_command", "args": {"command": "echo ran >> ran; sleep 60"}}]}]}`)
	first := h.worker("--approval-mode", "yolo")
	id := h.submit("Run it.")
	eventually(t, func() bool { return h.read("ran") == "ran\n" })
	first.kill()
	h.worker("--approval-mode", "yolo", "--answer-within", "100ms")
	h.ends(id, "failed")
	require.Contains(t, h.job(id).Error, "no approver continued the job")
	require.Equal(t, "ran\n", h.read("ran"))
}
