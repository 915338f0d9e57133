package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// checkModify changes the proposed content of the examples, as a user would, if the invocation is modifiable.
func (k *kit) checkModify(t testing.TB) {
	for _, args := range k.Examples {
		tool := k.fresh(t)
		inv, err := k.build(t, tool, args)
		if err != nil {
			return // another check reports it
		}
		modifiable, ok := inv.(tools.Modifiable)
		if !ok {
			continue
		}
		proposed := k.editOf(t, inv, args)
		if proposed == nil {
			continue
		}
		content := proposed.NewContent + "changed by the user\n"
		next, ok := k.modify(t, modifiable, content, args)
		if !ok {
			continue
		}
		k.checkInvocation(t, tool, next, args)
		if shown := k.editOf(t, next, args); shown != nil && shown.NewContent == proposed.NewContent {
			t.Errorf("Modify of %s has no effect: its confirmation still shows the proposal", show(args))
		}
		if bytes.Equal(next.Params(), inv.Params()) {
			t.Errorf("Modify of %s does not change its Params, which policy rules match: %s", show(args), show(next.Params()))
		}
		before := bytes.Clone(next.Params())
		if o, ended := k.execute(t.Context(), t, next, args); ended && !o.succeeded() {
			t.Errorf("Execute of %s fails after Modify: %v, result error %v", show(args), o.err, o.result.Error)
		}
		if !bytes.Equal(before, next.Params()) {
			t.Errorf("Params of %s changed during the call after Modify", show(args))
		}
	}
}

// editOf returns the edit that the confirmation of an invocation shows.
func (k *kit) editOf(t testing.TB, inv tools.ToolInvocation, args json.RawMessage) *tools.EditDetails {
	var c *tools.Confirmation
	ended, err := k.step(t.Context(), t, "Confirmation", args, func(ctx context.Context) (err error) {
		c, err = inv.Confirmation(ctx)
		return err
	})
	switch {
	case !ended:
		return nil
	case err != nil || c == nil || c.EditDetails == nil:
		t.Errorf("the call %s is Modifiable, but its confirmation shows no content to modify (%v)", show(args), err)
		return nil
	}
	return c.EditDetails
}

func (k *kit) modify(t testing.TB, inv tools.Modifiable, content string, args json.RawMessage) (next tools.ToolInvocation, ok bool) {
	ended, err := k.step(t.Context(), t, "Modify", args, func(ctx context.Context) (err error) {
		next, err = inv.Modify(ctx, content)
		return err
	})
	switch {
	case !ended:
		return nil, false
	case err != nil && fault.As(err) == nil:
		t.Errorf("Modify of %s returns an error that is not a *fault.Error: %v", show(args), err)
	case err != nil:
		t.Errorf("Modify of %s fails: %v", show(args), err)
	case next == nil:
		t.Errorf("Modify of %s returns neither an invocation nor an error", show(args))
	}
	return next, err == nil && next != nil
}
