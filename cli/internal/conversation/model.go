package conversation

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
)

// auto is the model name by which the keys decide.
const auto = "auto"

// CheckModel returns an error if a model cannot be used: it is unknown, or its provider has
// no key. It sends no request. A stored key is known and masked after the call.
func (t *Setup) CheckModel(ctx context.Context, name string) error {
	if t.Traffic.source == nil { // the models are those of the host
		return nil
	}
	_, err := t.Traffic.source(ctx, name)
	if problem := t.Keys.Problem(); problem != nil && !t.warned {
		t.warned = true
		t.Warn(fault.Line(problem))
	}
	if err != nil {
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	return nil
}

// IsUnchosen reports whether the keys decide about the model, and returns the default
// models of the providers with a key. A replayed session has its own models.
func (t *Setup) IsUnchosen(name string) (defaults []string, ok bool) {
	if t.Traffic.source == nil || t.Traffic.player != nil || cmp.Or(name, auto) != auto {
		return nil, false
	}
	return t.Traffic.Models.Defaults(), true
}

// noteModel prints which model the keys have selected.
func (t *Setup) noteModel(name string) {
	defaults, ok := t.IsUnchosen(name)
	if !ok {
		return
	}
	chosen, err := t.Traffic.Models.Resolve(name)
	if err != nil {
		return // CheckModel has reported it
	}
	text := fmt.Sprintf("The model is %s of %s", chosen.Model, chosen.Provider)
	if key := t.Traffic.Models.Origin(chosen.Provider).String(); key != "" {
		text += ", with the key of " + key
	}
	text += "."
	if len(defaults) > 1 {
		var names []string
		for _, d := range defaults {
			provider, _, _ := strings.Cut(d, ":")
			names = append(names, provider)
		}
		text += " These providers have a key: " + strings.Join(names, ", ") + ". fettle setup or --model selects another."
	}
	t.PrintNotice(text)
}
