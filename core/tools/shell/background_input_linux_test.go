package shell_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// reader records the options of Read.
type reader struct{ asked process.ReadOptions }

func (r *reader) List() []process.Info { return nil }

func (r *reader) Read(_ context.Context, _ string, o process.ReadOptions) (process.Unread, error) {
	r.asked = o
	return process.Unread{}, nil
}

// TO-17: a call that waits for the end requires no time.
func TestReadWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	factories, err := shell.Factories()
	require.NoError(t, err)
	for params, want := range map[string]process.ReadOptions{
		`{"id":"p1"}`:                                  {},
		`{"id":"p1","wait_ms":50}`:                     {Wait: 50 * time.Millisecond},
		`{"id":"p1","until_end":true}`:                 {Wait: 30 * time.Second, ForEnd: true},
		`{"id":"p1","until_end":true,"wait_ms":0}`:     {ForEnd: true},
		`{"id":"p1","until_end":true,"wait_ms":60000}`: {Wait: time.Minute, ForEnd: true},
		`{"id":"p1","until_end":true,"delay_ms":20}`:   {Wait: 20 * time.Millisecond, ForEnd: true},
	} {
		for _, f := range factories {
			if f.Spec().Name != shell.ReadBackground {
				continue
			}
			var r reader
			inv, err := f.Bind(shell.Services{Reader: &r}).Build(json.RawMessage(params))
			require.NoError(t, err, params)
			_, err = inv.Execute(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, want, r.asked, params)
		}
	}
}

// stuck is a process that reads only a part of its input.
type stuck struct{}

func (stuck) Kill(context.Context, string) (process.Info, error) { return process.Info{}, nil }

func (stuck) Write(context.Context, string, string, bool) error {
	return fault.New(fault.ExecutionFailed, "process.write", "p1 took 5 of 9 bytes.", "")
}

// TO-17: the error for a process that does not read states how much it has read.
func TestWriteTellsWhatWasTaken(t *testing.T) {
	t.Parallel()
	factories, err := shell.Factories()
	require.NoError(t, err)
	for _, f := range factories {
		if f.Spec().Name != shell.WriteBackground {
			continue
		}
		inv, err := f.Bind(shell.Services{Reader: &reader{}, Control: stuck{}}).Build(json.RawMessage(`{"id":"p1","input":"123456789","close_input":true}`))
		require.NoError(t, err)
		r, err := inv.Execute(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, fault.ExecutionFailed, r.Error.Code)
		require.Contains(t, r.LLMContent.String(), "p1 took 5 of 9 bytes.")
	}
}

// The result for a closed input states what happened to the process.
func TestCloseInput(t *testing.T) {
	t.Parallel()
	closing := func(s session, input string) string {
		return text(t, s.Call(shell.WriteBackground, args{"id": "p1", "input": input, "close_input": true}))
	}
	s := newSession(t, process.Options{})
	s.background("p1", `echo ready; exec sleep 1000`)
	require.Equal(t, "Wrote 2 bytes to p1 and closed its input.", closing(s, "x\n"))

	s = session{processes: process.New(process.Options{}), terminal: true}.open(t)
	s.background("p1", `echo ready; exec sleep 1000`)
	require.Regexp(t, `^Wrote 2 bytes to p1 and sent end of file \(\^D\) at its terminal; it still runs\. .*stop_background_process\.$`, closing(s, "x\n"))
}

// A Python that reads keys at its terminal ends when its input is closed.
func TestCloseInputOfPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	s := session{processes: process.New(process.Options{}), terminal: true}.open(t)
	text(t, s.Call(shell.RunShellCommand, args{"command": "exec python3 -i", "is_background": true}))
	result := text(t, s.Call(shell.WriteBackground, args{"id": "p1", "input": "print(10+1)\n", "close_input": true}))
	require.Contains(t, result, "Wrote 12 bytes to p1 and sent end of file (^D) at its terminal; it ")
	got := text(t, s.Call(shell.ReadBackground, args{"id": "p1", "until_end": true, "wait_ms": 60_000}))
	require.Contains(t, got, "EXITED with code 0")
	require.Contains(t, got, "\n11\n")
}
