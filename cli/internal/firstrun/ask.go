package firstrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
)

// Wanted limits what is asked.
type Wanted struct {
	Provider string // it is not asked; "": it is
	Model    bool   // a model is already chosen
}

// Ask asks for a provider, its key and a model, and stores the answers. ok is false if the
// user leaves; then nothing is stored. The error is that of ctx or of the terminal.
func (s *Setup) Ask(ctx context.Context, user *approval.Prompter, w Wanted) (saved Saved, ok bool, err error) {
	states := s.States(ctx)
	for {
		state, ok, err := s.askProvider(ctx, user, states, w.Provider)
		if !ok || err != nil {
			return Saved{}, false, err
		}
		c, checked, ok, err := s.askKey(ctx, user, state)
		if err != nil || !ok && w.Provider != "" {
			return Saved{}, false, err
		}
		if !ok {
			continue
		}
		if !w.Model {
			name, ok, err := askModel(ctx, user, state.ProviderInfo, checked.Models)
			if err != nil {
				return Saved{}, false, err
			}
			if !ok {
				continue
			}
			c.Model = state.Name + ":" + name
		}
		saved, problems := s.Save(ctx, c)
		saved.Check = checked.Result
		Report(user.Printf, saved, problems)
		if saved.Model == "" {
			saved.Model = c.Model // of this session
		}
		return saved, true, ctx.Err()
	}
}

// Say prints a text, wrapped.
func Say(user *approval.Prompter, text string) { user.Printf("%s", folded(text)) }

func folded(text string) string { return display.Wrap(display.Line(text), "", display.UsualColumns) }

// Report prints what was stored and what was not.
func Report(printf func(string, ...any), saved Saved, problems []error) {
	for _, problem := range problems {
		printf("%s", folded(fault.Line(problem)))
	}
	if key := saved.Key.String(); key != "" {
		printf("%s", folded("The key of "+saved.Provider+" is that of "+key+"."))
	}
	if saved.Model != "" {
		printf("%s", folded("New sessions use the model "+saved.Model+"; --model selects another."))
	}
}

// askProvider asks for a provider, by its number or its name.
func (s *Setup) askProvider(ctx context.Context, user *approval.Prompter, states []State, name string) (State, bool, error) {
	for i := range states {
		if states[i].Name == name {
			return states[i], true, nil
		}
	}
	for i, state := range states {
		user.Printf("  %2d  %-10s  %s\n", i+1, state.Name, display.Line(state.text()))
	}
	for {
		answer, ok, err := user.Ask(ctx, "Provider: a number or a name, Enter leaves", false)
		if err != nil || !ok || answer == "" {
			return State{}, false, err
		}
		if n, err := strconv.Atoi(answer); err == nil && n > 0 && n <= len(states) {
			return states[n-1], true, nil
		}
		if i := slices.IndexFunc(states, func(state State) bool { return strings.EqualFold(state.Name, answer) }); i >= 0 {
			return states[i], true, nil
		}
		user.Printf("There is no such provider.\n")
	}
}

// text describes the state in a few words.
func (s State) text() string {
	switch key := s.Key; {
	case key.Variable != "":
		return "key in " + key.Variable
	case key.Place != "":
		return "key in " + key.String()
	case s.Local && s.Models == nil:
		return "no server answers on this machine"
	case s.Local:
		return fmt.Sprintf("running, models: %d", len(s.Models))
	case len(s.Keys) > 0:
		return "no key (" + strings.Join(s.Keys, " or ") + ")"
	case s.Ready:
		return "ready"
	}
	return "needs " + strings.Join(s.Others[:min(1, len(s.Others))], "")
}

// askKey asks for the key and the variables that a provider needs, until a request
// succeeds or the user keeps the answers all the same. ok is false if the user goes back.
func (s *Setup) askKey(ctx context.Context, user *approval.Prompter, state State) (c Choice, checked Checked, ok bool, err error) {
	c = Choice{Provider: state.ProviderInfo, Variables: map[string]string{}}
	asks := !state.Local && len(state.Keys) > 0
	switch {
	case state.Key.Variable != "":
		user.Printf("The key is that of %s.\n", state.Key)
		asks = false
	case state.Key.Place != "":
		user.Printf("There is a key: that of %s.\n", display.Line(state.Key.String()))
	}
	for {
		if asks {
			question := "Key of " + state.Name + " (hidden), Enter goes back"
			if state.Key.Place != "" {
				question = "Key of " + state.Name + " (hidden), Enter keeps the stored key"
			}
			if c.Key, ok, err = user.Ask(ctx, question, true); err != nil || !ok || c.Key == "" && state.Key.Place == "" {
				return c, checked, false, err
			}
			s.Masks(c.Key)
		}
		checked = s.Check(ctx, state.ProviderInfo, c.Key, c.Variables)
		if ctx.Err() != nil {
			return c, checked, false, ctx.Err()
		}
		if checked.Result == Accepted {
			user.Printf("%s has answered; it lists %d models.\n", state.Name, len(checked.Models))
			return c, checked, true, nil
		}
		Say(user, s.Masked(fault.Line(checked.Err)))
		switch {
		case checked.Result == Incomplete || state.Local && checked.Result == Unreachable:
			asks = false
			if ok, err = s.askVariables(ctx, user, state.ProviderInfo, c.Variables); err != nil || !ok {
				return c, checked, false, err
			}
			continue
		case state.Key.Variable != "" && checked.Result == Refused:
			Say(user, "A variable takes precedence over a stored key: correct "+state.Key.Variable+", or unset it.")
			return c, checked, false, nil
		}
		answer, err := choose(ctx, user, "[r]etry  [k]eep it  go [b]ack", "r", "k", "b")
		switch {
		case err != nil || answer == "" || answer == "b":
			return c, checked, false, err
		case answer == "k":
			return c, checked, true, nil
		}
		asks = state.Key.Variable == "" && len(state.Keys) > 0
	}
}

// askVariables asks for the variables of a provider that are not secret: its address, or
// those of a provider without a key.
func (s *Setup) askVariables(ctx context.Context, user *approval.Prompter, info program.ProviderInfo, into map[string]string) (ok bool, err error) {
	names := []string{info.Address}
	if len(info.Keys) == 0 {
		names = info.Others
	}
	for i, name := range names {
		value, ok, err := user.Ask(ctx, name+", Enter "+map[bool]string{true: "goes back", false: "leaves it out"}[i == 0], false)
		if err != nil || !ok || value == "" && i == 0 {
			return false, err
		}
		if value != "" {
			into[name] = value
		}
	}
	return true, nil
}

// choose asks for one of some letters until one is given; "" is the end of input.
func choose(ctx context.Context, user *approval.Prompter, question string, letters ...string) (string, error) {
	for {
		answer, ok, err := user.Ask(ctx, question, false)
		if err != nil || !ok {
			return "", err
		}
		if answer = strings.ToLower(answer); slices.Contains(letters, answer) {
			return answer, nil
		}
	}
}

// shownModels is the number of models that a question lists.
const shownModels = 15

// askModel asks for a model of a provider: by its number, its name or a part of it.
func askModel(ctx context.Context, user *approval.Prompter, info program.ProviderInfo, known []string) (string, bool, error) {
	first := info.Default
	if len(known) > 0 && !slices.Contains(known, first) {
		first = ""
	}
	if first == "" && len(known) == 1 {
		first = known[0]
	}
	all := known
	if i := slices.Index(known, first); i > 0 {
		all = slices.Concat([]string{first}, known[:i], known[i+1:])
	}
	list := listModels(user, all)
	for {
		question := "Model: a number, a name or a part of it"
		if first != "" {
			question += ", Enter takes " + display.Line(first)
		} else {
			question += ", Enter goes back"
		}
		answer, ok, err := user.Ask(ctx, question, false)
		if err != nil || !ok {
			return "", false, err
		}
		if answer == "" {
			return first, first != "", nil
		}
		answer = strings.TrimPrefix(answer, info.Name+":")
		if n, err := strconv.Atoi(answer); err == nil && n > 0 && n <= len(list) {
			return list[n-1], true, nil
		}
		if len(all) == 0 || slices.Contains(all, answer) {
			return answer, true, nil
		}
		var near []string
		for _, name := range all {
			if strings.Contains(strings.ToLower(name), strings.ToLower(answer)) {
				near = append(near, name)
			}
		}
		switch len(near) {
		case 0:
			user.Printf("%s lists no such model.\n", info.Name)
		case 1:
			return near[0], true, nil
		default:
			list = listModels(user, near)
		}
	}
}

// listModels prints the first models, and returns them.
func listModels(user *approval.Prompter, all []string) []string {
	list := all[:min(len(all), shownModels)]
	for i, name := range list {
		user.Printf("  %2d  %s\n", i+1, display.Line(name))
	}
	if n := len(all) - len(list); n > 0 {
		user.Printf("      and %d more\n", n)
	}
	return list
}

// AskModel asks which of the default models of several providers with a key new sessions
// use, and stores the answer. The first is the answer at the end of input, which is not
// stored.
func (s *Setup) AskModel(ctx context.Context, user *approval.Prompter, defaults []string, origin func(provider string) program.KeyOrigin) (string, error) {
	user.Printf("Several providers have a key. The answer is the model of new sessions.\n")
	for i, name := range defaults {
		provider, _, _ := strings.Cut(name, ":")
		user.Printf("  %2d  %-30s  key of %s\n", i+1, name, display.Line(origin(provider).String()))
	}
	for {
		answer, ok, err := user.Ask(ctx, "Model: a number, Enter takes 1", false)
		if err != nil || !ok {
			return defaults[0], err
		}
		n := 1
		if answer != "" {
			if n, err = strconv.Atoi(answer); err != nil || n < 1 || n > len(defaults) {
				continue
			}
		}
		provider, _, _ := strings.Cut(defaults[n-1], ":")
		saved, problems := s.Save(ctx, Choice{Provider: program.ProviderInfo{Name: provider}, Model: defaults[n-1]})
		Report(user.Printf, saved, problems)
		return defaults[n-1], nil
	}
}
