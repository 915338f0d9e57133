package conversation

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// trafficFlags select a file to record model responses to, and a recording to replay
// them from.
type trafficFlags struct{ record, replay string }

func (f *trafficFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.record, "record", "", "record the responses of the model to a `file`, for --replay")
	set.StringVar(&f.replay, "replay", "", "replay the responses of the model from a `file`, without a network")
}

// traffic is the connection to the models, live or replayed.
type traffic struct {
	file     *os.File // recording file; nil: none
	player   *replay.Player
	recorder *replay.Recorder
	Models   program.Models // without keys until the variables are known
	// Variables are those of the session; nil until they are known.
	Variables config.Variables
	source    model.Source // nil until then
}

// Replays reports whether the responses are replayed, so that no request may leave the
// machine.
func (t *traffic) Replays() bool { return t.player != nil }

// open opens the files that the flags name.
func (f trafficFlags) open() (*traffic, error) {
	t := &traffic{}
	var err error
	if f.replay != "" {
		if t.player, err = replay.Open(f.replay, replay.Loose); err != nil {
			return nil, &program.ExitError{Code: program.ExitConfig, Err: err}
		}
	}
	if f.record != "" {
		if t.file, err = os.OpenFile(f.record, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli",
				display.Sentence("cannot write the recording: "+err.Error()), "Give --record a file in a writable directory.", err)}
		}
	}
	return t, nil
}

// wire sets the traffic with all providers in the Parameters. hide receives the keys
// once they are known.
func (t *traffic) wire(all program.Providers, keys *credentials.Store, p *config.Parameters, hide *redact.Masker) {
	*p = all.Parameters(*p)
	t.Models = all.Models(func(string) (value string, ofProject bool) { return "", false })
	p.Environment.SecretsFound = func(values ...string) {
		hide.Add(values...)
		if t.recorder != nil {
			t.recorder.Hide(values...)
		}
	}
	keys.OnKey(p.Environment.SecretsFound)
	providers := p.Conversation.Providers
	p.Conversation.Providers = func(v config.Variables) model.Source {
		t.Models, t.Variables = all.Models(v), v
		hide.Add(t.Models.Secrets()...)
		source := providers(v)
		if t.player != nil {
			source = model.Always(t.player)
		}
		if t.file != nil {
			if t.recorder == nil { // of all sessions of the program
				t.recorder = replay.NewRecorder(t.file)
			}
			t.recorder.Hide(hide.Values()...)
			source = all.Recording(source, t.recorder)
		}
		t.Variables, t.source = v, source
		return source
	}
}

// DisplayName returns the name of a model for display: the provider's name, and for
// "auto" the provider's default model.
func (t *traffic) DisplayName(name string) string {
	if resolved, err := t.Models.Resolve(name); err == nil {
		return resolved.Model
	}
	return name
}

// close ends the recording and returns an error if it is incomplete.
func (t *traffic) close() error {
	if t == nil || t.file == nil {
		return nil
	}
	err := t.file.Close()
	if t.recorder != nil && t.recorder.Err() != nil {
		return t.recorder.Err()
	}
	return err
}
