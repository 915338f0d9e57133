package agent

import "context"

// Observers joins several observers into one; nil ones are left out. Each is told
// of what begins in this order, with the context of the one before it, and of
// what ends in the other. One that panics keeps nothing from the others; the
// panic goes on once all were told of the end, to the client, which logs it.
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

// Prompt tells all of a prompt.
func (all observers) Prompt(ctx context.Context, p PromptInfo) (context.Context, func(PromptEnd)) {
	return each(ctx, all, func(ctx context.Context, o Observer) (context.Context, func(PromptEnd)) { return o.Prompt(ctx, p) })
}

// Request tells all of a request.
func (all observers) Request(ctx context.Context, r RequestInfo) (context.Context, func(RequestEnd)) {
	return each(ctx, all, func(ctx context.Context, o Observer) (context.Context, func(RequestEnd)) { return o.Request(ctx, r) })
}

// Compaction tells all of a compaction.
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

// each tells observers that something begins, and returns what tells them that
// it has ended.
func each[E any](ctx context.Context, all observers, begin func(context.Context, Observer) (context.Context, func(E))) (context.Context, func(E)) {
	var ends []func(E)
	var broken any // the first panic
	guarded := func(run func()) {
		defer func() {
			if cause := recover(); cause != nil && broken == nil {
				broken = cause
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
		if broken != nil {
			panic(broken)
		}
	}
}
