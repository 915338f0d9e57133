// Package checker runs the safety checkers that a policy decision names: built-in
// ones, and programs of the user.
package checker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// Defaults of [Options].
const (
	DefaultTimeout = 5 * time.Second // for its answer
	DefaultGrace   = time.Second     // between SIGTERM and SIGKILL
)

// Options configure a [Runner]. All fields may be zero, but allowed-path requires
// RealPath.
type Options struct {
	// Dir and Roots are the absolute directories of the session, for calls
	// without their own. Programs run in Dir.
	Dir   string
	Roots []string

	// Programs maps the names of external checkers to absolute paths of
	// executables. An unlisted checker denies.
	Programs map[string]string

	// RealPath resolves the links of an absolute path, which need not exist. Nil:
	// paths cannot be resolved, so that allowed-path denies all.
	RealPath func(ctx context.Context, path string) (string, error)

	// History returns the conversation so far, for programs. Nil: it is not sent.
	History func() []Turn

	Timeout time.Duration // zero: DefaultTimeout
	Grace   time.Duration // zero: DefaultGrace

	Getenv func(name string) string // nil: os.Getenv
	Logger *slog.Logger             // for the stderr of programs, at level debug; nil: nothing is logged
}

// Turn is one exchange of the conversation, as sent to programs.
type Turn struct {
	User  UserMessage `json:"user"`
	Model Reply       `json:"model"`
}

// UserMessage is the prompt of the user.
type UserMessage struct {
	Text string `json:"text"`
}

// Reply is the answer of the model.
type Reply struct {
	Text      string     `json:"text,omitempty"`
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
}

// ToolCall is a call as sent to programs.
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Runner runs checkers. It is safe for concurrent use and has no state between
// calls.
type Runner struct {
	options Options
}

// New returns a Runner. It does no I/O.
func New(o Options) *Runner {
	if o.RealPath == nil {
		o.RealPath = func(context.Context, string) (string, error) { return "", errors.New("links are not resolved") }
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Runner{options: o}
}

// The built-in checkers.
const (
	AllowedPath = "allowed-path" // every path in the arguments lies in the workspace
	Conseca     = "conseca"      // requires a model and is disabled: it allows
)

// Check runs a checker on a call and returns its verdict with the reason. A
// failure of a checker is an error of code policy_violation with the verdict
// deny, or of code cancelled once ctx ends.
func (r *Runner) Check(ctx context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error) {
	verdict, reason, err := r.run(ctx, ch, c)
	switch {
	case ctx.Err() != nil:
		return policy.Deny, "", fault.Wrap(fault.Cancelled, "checker.check",
			fmt.Sprintf("The safety checker %.80q did not finish, as the call was cancelled.", ch.Name), "", ctx.Err())
	case err != nil:
		return policy.Deny, "", fault.Wrap(fault.PolicyViolation, "checker.check",
			fmt.Sprintf("The safety checker %.80q could not judge the call, which is denied therefore: %v.", ch.Name, err), remedy(ch), err)
	}
	return verdict, reason, nil
}

func (r *Runner) run(ctx context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error) {
	if ch.External {
		return r.external(ctx, ch, c)
	}
	switch ch.Name {
	case AllowedPath:
		return r.allowedPath(ctx, ch, c)
	case Conseca:
		return policy.Allow, "The checker conseca needs a model and is off.", nil
	}
	return policy.Deny, "", fmt.Errorf("there is no such checker, only %s and %s", AllowedPath, Conseca)
}

// remedy returns the user's next step after a checker failed.
func remedy(ch policy.Checker) string {
	if ch.Source == "" {
		return "Repair the checker, or remove it from the policy."
	}
	if ch.Line == 0 {
		return fmt.Sprintf("Repair the checker, or remove it from %s.", ch.Source)
	}
	return fmt.Sprintf("Repair the checker, or remove it from %s, line %d.", ch.Source, ch.Line)
}

// dirs returns the directory that relative paths are resolved against, and the
// workspace directories.
func (r *Runner) dirs(c policy.Call) (dir string, roots []string) {
	dir, roots = r.options.Dir, r.options.Roots
	if c.Dir != "" {
		dir = c.Dir
	}
	if len(c.Roots) > 0 {
		roots = c.Roots
	}
	return dir, roots
}

// setting returns a list of texts from a checker's own settings.
func setting(ch policy.Checker, key string) ([]string, error) {
	switch v := ch.Config[key].(type) {
	case nil:
		return nil, nil
	case []string:
		return v, nil
	case []any:
		list := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("its setting %s holds something that is no text", key)
			}
			list = append(list, s)
		}
		return list, nil
	}
	return nil, fmt.Errorf("its setting %s is not a list", key)
}
