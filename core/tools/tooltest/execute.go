package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// outcome is the result of an execution.
type outcome struct {
	result tools.Result
	err    error
}

func (o outcome) succeeded() bool { return o.err == nil && o.result.Error == nil }

// step runs one step of a call, and reports panics. The context of the step ends with ctx, or after Timeout. A step
// that has not returned another Timeout later is abandoned, and so is the rest of the run. ended reports whether the
// step returned.
func (k *kit) step(ctx context.Context, t testing.TB, name string, args json.RawMessage, run func(ctx context.Context) error) (ended bool, err error) {
	if k.hung.Load() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- tools.Protect(k.spec.Name, name, func() error { return run(ctx) }) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		limit := time.NewTimer(k.Timeout)
		defer limit.Stop()
		select {
		case err = <-done:
		case <-limit.C:
			k.hung.Store(true)
			t.Errorf("%s of %s still runs %v after its context ended", name, show(args), k.Timeout)
			return false, nil
		}
	}
	if defect := new(tools.Defect); errors.As(err, &defect) {
		t.Errorf("%s of %s panics: %v", name, show(args), err)
	}
	return true, err
}

func (k *kit) execute(ctx context.Context, t testing.TB, inv tools.ToolInvocation, args json.RawMessage) (outcome, bool) {
	var o outcome
	var chunks atomic.Int64
	var over atomic.Bool
	ctx, host := k.watch(ctx, args)
	ended, err := k.step(ctx, t, "Execute", args, func(ctx context.Context) (err error) {
		o.result, err = inv.Execute(ctx, func(string) {
			if over.Load() {
				k.noteLate("sends live output")
			}
			chunks.Add(1)
		})
		return err
	})
	over.Store(true)
	host.end(t)
	if !ended {
		return outcome{}, false
	}
	if chunks.Load() > 0 && !k.spec.StreamsOutput {
		t.Errorf("Execute of %s sends live output, but Spec.StreamsOutput is not set", show(args))
	}
	o.err = err
	return o, true
}

func (k *kit) checkExecution(t testing.TB) {
	for _, args := range k.Examples {
		if o, ended := k.call(t, args); ended && !o.succeeded() {
			t.Errorf("Execute of the example %s fails: %v, result error %v", show(args), o.err, o.result.Error)
		}
	}
	for _, args := range k.Failing {
		o, ended := k.call(t, args)
		switch {
		case !ended:
		case o.err != nil:
			t.Errorf("Execute of %s returns an error to the host instead of the model: %v", show(args), o.err)
		case o.result.Error == nil:
			t.Errorf("Execute of %s succeeds but should fail", show(args))
		case o.result.Error.Code == "" || o.result.Error.Message == "":
			t.Errorf("Execute of %s fails without code or message: %+v", show(args), o.result.Error)
		case len(o.result.LLMContent.Parts) == 0:
			t.Errorf("Execute of %s fails without content for the model; see tools.Fail", show(args))
		}
	}
}

// call builds, confirms and executes in a new environment, and checks what every call must do. It reports whether the
// call returned.
func (k *kit) call(t testing.TB, args json.RawMessage) (outcome, bool) {
	ctx := t.Context()
	inv, err := k.build(t, k.fresh(t), args)
	if err != nil {
		t.Errorf("Build(%s): %v", show(args), err)
		return outcome{}, false
	}
	before := bytes.Clone(inv.Params())
	willRefuse, ok := k.confirm(ctx, t, inv, args)
	if !ok {
		return outcome{}, false
	}
	o, ended := k.execute(ctx, t, inv, args)
	if !ended {
		return outcome{}, false
	}
	if after := inv.Params(); !bytes.Equal(before, after) {
		t.Errorf("Params of %s changed during the call:\n%s\n%s", show(args), show(before), show(after))
	}
	if willRefuse && o.succeeded() {
		t.Errorf("the call %s announced a refusal, but succeeded", show(args))
	}
	checkStable(t, "result", args, o.result, new(tools.Result))
	if o.err == nil {
		CheckResult(t, k.spec, o.result)
	}
	return o, true
}

// confirm runs the confirmation step and reports whether the invocation announced a refusal. ok is false if the call
// ends here.
func (k *kit) confirm(ctx context.Context, t testing.TB, inv tools.ToolInvocation, args json.RawMessage) (willRefuse, ok bool) {
	var c *tools.Confirmation
	ended, err := k.step(ctx, t, "Confirmation", args, func(ctx context.Context) (err error) {
		c, err = inv.Confirmation(ctx)
		return err
	})
	switch {
	case !ended:
		return false, false
	case errors.Is(err, tools.ErrWillRefuse):
		return true, true
	case err != nil:
		if f := fault.As(err); f == nil || f.Code == "" {
			t.Errorf("Confirmation of %s fails without a code: %v", show(args), err)
		}
		return false, true
	case c != nil:
		checkConfirmation(t, args, c)
	case k.spec.Mutates() && !k.DefaultQuestion:
		t.Errorf("Confirmation of %s is nil, but the tool changes something: describe the change (tools.WithConfirmation), "+
			"or set Cases.DefaultQuestion if the description is enough", show(args))
	}
	return false, true
}

func checkConfirmation(t testing.TB, args json.RawMessage, c *tools.Confirmation) {
	if c.Title == "" {
		t.Errorf("Confirmation of %s has no title", show(args))
	}
	details := 0
	complete := false
	if d := c.EditDetails; d != nil {
		details++
		complete = c.Type == tools.ConfirmEdit && d.FilePath != "" && d.FileName != ""
	}
	if d := c.ExecDetails; d != nil {
		details++
		complete = c.Type == tools.ConfirmExec && d.Command != ""
	}
	if d := c.MCPDetails; d != nil {
		details++
		complete = c.Type == tools.ConfirmMCP && d.ServerName != "" && d.ToolName != ""
	}
	if d := c.InfoDetails; d != nil {
		details++
		complete = c.Type == tools.ConfirmInfo && d.Prompt != ""
	}
	if details != 1 || !complete {
		t.Errorf("Confirmation of %s must have complete details of its type %q, and no others", show(args), c.Type)
	}
	for _, p := range c.Paths {
		if !filepath.IsAbs(p) {
			t.Errorf("Confirmation of %s: the path %q is not absolute", show(args), p)
		}
	}
	checkStable(t, "confirmation", args, c, new(tools.Confirmation))
}

// checkStable checks that the JSON of a value decodes and encodes to the same JSON.
func checkStable(t testing.TB, what string, args json.RawMessage, value, empty any) {
	first, err := json.Marshal(value)
	if err != nil {
		t.Errorf("the %s of %s cannot be encoded as JSON: %v", what, show(args), err)
		return
	}
	if err := json.Unmarshal(first, empty); err != nil {
		t.Errorf("the %s of %s cannot be decoded: %v", what, show(args), err)
		return
	}
	second, err := json.Marshal(empty)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("the JSON of the %s of %s is not stable (%v):\n%s\n%s", what, show(args), err, show(first), show(second))
	}
}

// checkCancel runs both steps with a context that has ended, and Execute with a context that ends during the call.
func (k *kit) checkCancel(t testing.TB) {
	for _, args := range k.Examples {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		inv, err := k.build(t, k.fresh(t), args)
		if err != nil {
			return // another check reports it
		}
		returned, err := k.step(ended, t, "Confirmation", args, func(ctx context.Context) error {
			_, err := inv.Confirmation(ctx)
			return err
		})
		if !returned || err != nil {
			continue
		}
		if o, ok := k.execute(ended, t, inv, args); ok && o.succeeded() {
			t.Errorf("Execute of %s succeeds although its context had ended", show(args))
		}

		during, cancel := context.WithCancel(t.Context())
		var cancelling sync.WaitGroup
		if inv, err = k.build(t, k.fresh(t), args); err == nil {
			cancelling.Go(cancel)
			k.execute(during, t, inv, args)
		}
		cancelling.Wait()
		cancel()
	}
}

// checkParallel runs the examples concurrently; those of a tool that changes nothing several times.
func (k *kit) checkParallel(t testing.TB) {
	if !k.spec.Parallel {
		return
	}
	copies := 4
	if k.spec.Mutates() {
		copies = 1
	}
	tool := k.fresh(t)
	var running sync.WaitGroup
	for _, args := range k.Examples {
		for range copies {
			running.Go(func() {
				inv, err := k.build(t, tool, args)
				if err != nil {
					return // another check reports it
				}
				o, ended := k.execute(t.Context(), t, inv, args)
				if ended && !o.succeeded() && !k.spec.Mutates() {
					t.Errorf("Execute of %s fails in a concurrent call: %v, result error %v", show(args), o.err, o.result.Error)
				}
			})
		}
	}
	running.Wait()
}
