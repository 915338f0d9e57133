package conversation

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// BeginTurn starts a turn, so that the changes caused by an input can be undone
// together.
func BeginTurn(c *config.Config, input string) {
	if kept, err := c.Checkpoints(); err == nil { // otherwise no directory is available for checkpoints
		kept.BeginTurn(input)
	}
}

// Ended converts the last event of a run to the result of the program: nil if the run
// completed. err is returned if the event has no error.
func Ended(last agent.Event, err error) error {
	switch last.Type {
	case agent.EventDone, agent.EventStopped:
		return nil
	case agent.EventCancelled:
		return program.Interrupted()
	case agent.EventBlocked:
		return fault.New(fault.StopExecution, "cli", "The prompt was refused: "+last.Text, "")
	}
	if last.Err != nil {
		err = last.Err
	}
	switch fault.CodeOf(err) {
	case fault.Cancelled:
		return program.Interrupted()
	case fault.InvalidConfig:
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	case fault.LimitReached:
		return &program.ExitError{Code: program.ExitLimit, Err: err}
	}
	return &program.ExitError{Code: program.ExitToolError, Err: err}
}

// ProjectNotices lists the effects that the project of a trusted session has: enabled
// features and disabled tools.
func ProjectNotices(c *config.Config) []string {
	var notices []string
	if powers, err := c.Settings().ProjectPowers(); err == nil && len(powers) > 0 {
		notices = append(notices, "Trusted files set "+byFile(powers)+".")
	}
	if c.Trust().IsTrusted() {
		notices = append(notices, program.SwitchNotices(c)...)
	}
	return notices
}

// byFile summarizes powers, each followed by the file that requests it.
func byFile(powers []settings.Power) string {
	var files []string
	words := map[string][]string{}
	for _, power := range powers {
		word := power.Key
		switch {
		case power.Address != "":
			word = power.Variable + " " + power.Address
		case power.Variable != "":
			word = power.Variable
		case power.Key == "model.name":
			word = "the model " + strings.TrimPrefix(power.Text, "sends the conversation to the model ")
		}
		if !slices.Contains(files, power.Source) {
			files = append(files, power.Source)
		}
		if !slices.Contains(words[power.Source], word) {
			words[power.Source] = append(words[power.Source], word)
		}
	}
	parts := make([]string, len(files))
	for i, file := range files {
		parts[i] = strings.Join(words[file], ", ") + " (" + file + ")"
	}
	return strings.Join(parts, "; ")
}
