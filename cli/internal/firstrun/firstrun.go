// Package firstrun asks what a session needs before it starts: a model provider with its
// key, a default model, and trust in the directory. It asks in lines, in a terminal that no
// front end uses. fettle setup and the start of a session share it.
package firstrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// The time for a request to a provider, and to a server on this machine.
const (
	checkTime = 15 * time.Second
	probeTime = 700 * time.Millisecond
)

// Auto is the model name by which the keys decide.
const Auto = "auto"

// Setup sets up model providers for the user.
type Setup struct {
	*program.Program
	Flags      *program.Flags
	Variables  config.Variables // of the environment and of .env files
	NoKeychain bool             // store keys in the file
}

// State is a provider and what is known about it.
type State struct {
	program.ProviderInfo
	Local  bool     `json:"local,omitempty"`  // it needs no key; Models shows whether its server runs
	Models []string `json:"models,omitempty"` // of a local server that answers
}

// States returns the state of all providers. It asks servers on this machine that need no
// key for their models, and waits for them for a short time.
func (s *Setup) States(ctx context.Context) []State {
	var all []State
	for _, info := range s.Providers.List(s.Variables) {
		all = append(all, State{ProviderInfo: info, Local: info.Ready && info.Key == program.KeyOrigin{} && len(info.Keys) > 0})
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var probes sync.WaitGroup
	for i := range all {
		if all[i].Local {
			probes.Go(func() { all[i].Models, _ = s.Providers.ModelNames(ctx, s.Variables, all[i].Name) }) // no models: it does not run
		}
	}
	probes.Wait()
	return all
}

// Result is the result of checking a key.
type Result string

// The results.
const (
	Accepted    Result = "accepted"    // the service has listed its models
	Refused     Result = "refused"     // the service does not accept the key
	Unreachable Result = "unreachable" // there was no answer, or not one about the key
	Incomplete  Result = "incomplete"  // a variable is missing, such as an address
)

// Checked is the answer of a service to a request for its models.
type Checked struct {
	Result Result
	Models []string
	Err    error // unless accepted
}

// Check asks a provider for its models. An empty key is that of the variables or of the
// store. variables take precedence over those of the environment.
func (s *Setup) Check(ctx context.Context, info program.ProviderInfo, key string, variables map[string]string) Checked {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	names, err := s.Providers.ModelNames(ctx, func(name string) (string, bool) {
		if value, given := variables[name]; given {
			return value, false
		}
		if key != "" && slices.Contains(info.Keys, name) {
			if name == info.Keys[0] {
				return key, false
			}
			return "", false
		}
		return s.Variables(name)
	}, info.Name)
	failed := (*model.Error)(nil)
	switch {
	case err == nil:
		return Checked{Result: Accepted, Models: names}
	case fault.CodeOf(err) == fault.InvalidConfig && !errors.As(err, &failed):
		return Checked{Result: Incomplete, Err: err}
	case errors.As(err, &failed) && failed.Kind == model.Unauthenticated:
		return Checked{Result: Refused, Err: refusal(info, key, failed)}
	case errors.As(err, &failed):
		err = failed.Fault()
	}
	return Checked{Result: Unreachable, Err: err}
}

// refusal is the error of a key that a provider does not accept.
func refusal(info program.ProviderInfo, key string, failed *model.Error) error {
	message, remedy := fmt.Sprintf("The key of %s was refused", info.Name), "Give another key."
	if key == "" && info.Key.String() != "" {
		message, remedy = fmt.Sprintf("The key of %s, that of %s, was refused", info.Name, info.Key), "Correct or replace it."
	}
	if failed.Status != 0 {
		message += fmt.Sprintf(" with HTTP status %d", failed.Status)
	}
	if text := strings.TrimRight(strings.TrimSpace(failed.Message), "."); text != "" {
		message += ": " + text
	}
	return fault.Wrap(fault.InvalidConfig, "cli.setup", message+".", remedy, failed)
}

// Choice is what to store for a provider.
type Choice struct {
	Provider  program.ProviderInfo
	Key       string            // "": it is not changed
	Variables map[string]string // that are not secret
	Model     string            // the default model of new sessions, as PROVIDER:NAME; "": it is not changed
}

// Saved describes what was stored.
type Saved struct {
	Provider string            `json:"provider"`
	Key      program.KeyOrigin `json:"key,omitzero"`    // the key that is used
	Model    string            `json:"model,omitempty"` // the new default model
	Check    Result            `json:"check,omitempty"`
	Problem  string            `json:"problem,omitempty"`
	Stored   bool              `json:"stored"` // all of it, for later sessions
}

// Save stores a choice: the key in the keychain of the system, if there is one, or else in
// the file of keys, and the model in the user's settings. If nothing can be written, the
// choice applies to this process, and the returned problems say so.
func (s *Setup) Save(ctx context.Context, c Choice) (saved Saved, problems []error) {
	saved = Saved{Provider: c.Provider.Name, Model: c.Model, Stored: true}
	if c.Key != "" || len(c.Variables) > 0 {
		problems, saved.Stored = s.store(ctx, c)
	}
	for _, info := range s.Providers.List(s.Variables) {
		if info.Name == c.Provider.Name {
			saved.Key = info.Key
		}
	}
	if c.Model != "" {
		flags := *s.Flags
		flags.Model = "" // it is about this run
		written, err := userfiles.WriteSetting(ctx, &flags, settings.LayerUser, "model.name", c.Model)
		for _, note := range written.Notes {
			problems = append(problems, errors.New(note))
		}
		if err != nil {
			problems = append(problems, err)
			saved.Model, saved.Stored = "", false
		}
	}
	return saved, problems
}

// store stores the key and the variables, or else keeps them for this process.
func (s *Setup) store(ctx context.Context, c Choice) (problems []error, stored bool) {
	before, _ := s.Keys.Find(c.Provider.Name)
	variables := map[string]string{}
	maps.Copy(variables, before.Variables)
	maps.Copy(variables, c.Variables)
	entry := credentials.Entry{Provider: c.Provider.Name, Place: credentials.InFile, Variables: variables}
	if s.Keys.HasKeychain() && !s.NoKeychain {
		entry.Place = credentials.InKeychain
	}
	key := c.Key
	if key == "" { // only variables are new
		var err error
		if key, err = s.Keys.Key(ctx, entry.Provider); err != nil {
			return []error{err}, false
		}
		entry.Place = before.Place
	}
	err := s.Keys.Put(ctx, entry, key)
	if err != nil && entry.Place == credentials.InKeychain && ctx.Err() == nil {
		problems = append(problems, err)
		entry.Place = credentials.InFile
		err = s.Keys.Put(ctx, entry, key)
	}
	if err != nil {
		s.Keys.Use(entry.Provider, key, variables)
		problems = append(problems, err)
	}
	return problems, err == nil
}
