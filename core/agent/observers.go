package agent

import "context"

// Observers combines several observers; nil ones are skipped. Starts are reported in this order, each with the context
// of the previous one, and ends in reverse order. A panic of one does not affect the others; it is passed on after all
// were notified of the end, to the client, which logs it.
func Observers(list ...Observer) Observer {
	var kept observers
	for _, o := range list {
		if o != nil {
			kept = append(kept, o)
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	}
	return kept
}

type observers []Observer

// Prompt notifies all observers of a prompt.
func (all observers) Prompt(ctx context.Context, p PromptInfo) (context.Context, func(PromptEnd)) {
	return each(ctx, all, func(ctx context.Context, o Observer) (context.Context, func(PromptEnd)) { return o.Prompt(ctx, p) })
}

// Request notifies all observers of a request.
func (all observers) Request(ctx context.Context, r RequestInfo) (context.Context, func(RequestEnd)) {
	return each(ctx, all, func(ctx context.Context, o Observer) (context.Context, func(RequestEnd)) { return o.Request(ctx, r) })
}

// Compaction notifies all observers of a compaction.
func (all observers) Compaction(ctx context.Context, forced bool) (context.Context, func(Compaction, error)) {
	ctx, end := each(ctx, all, func(ctx context.Context, o Observer) (context.Context, func(compacted)) {
		ctx, end := o.Compaction(ctx, forced)
		if end == nil {
			return ctx, nil
		}
		return ctx, func(c compacted) { end(c.result, c.err) }
	})
	return ctx, func(c Compaction, err error) { end(compacted{c, err}) }
}

// each notifies observers of a start, and returns the function that notifies them of the end.
func each[E any](ctx context.Context, all observers, begin func(context.Context, Observer) (context.Context, func(E))) (context.Context, func(E)) {
	var ends []func(E)
	var panicked any // the first panic
	guarded := func(run func()) {
		defer func() {
			if cause := recover(); cause != nil && panicked == nil {
				panicked = cause
			}
		}()
		run()
	}
	for _, o := range all {
		guarded(func() {
			inner, end := begin(ctx, o)
			if inner != nil {
				ctx = inner
			}
			if end != nil {
				ends = append(ends, end)
			}
		})
	}
	return ctx, func(e E) {
		for i := len(ends) - 1; i >= 0; i-- {
			guarded(func() { ends[i](e) })
		}
		if panicked != nil {
			panic(panicked)
		}
	}
}
