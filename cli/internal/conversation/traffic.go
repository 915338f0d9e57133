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
	"github.com/fettle-dev/fettle/core/standard"
)

// trafficFlags say what is recorded of the requests to models, and whether a
// recording answers them.
type trafficFlags struct{ record, replay string }

func (f *trafficFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.record, "record", "", "write what the model answers to a `file`, for --replay")
	set.StringVar(&f.replay, "replay", "", "have the model answer from such a `file`, without a network")
}

// traffic is how models are reached.
type traffic struct {
	file     *os.File // that is recorded to; nil: none
	player   *replay.Player
	recorder *replay.Recorder
	Models   standard.ModelOptions // set once the variables are known
}

// open opens the files of the flags.
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
				display.Sentence("the file to record to cannot be written: "+err.Error()), "Give --record a file in a directory that you may write to.", err)}
		}
	}
	return t, nil
}

// wire has the Parameters reach models so. hide learns the keys once they are
// known.
func (t *traffic) wire(p *config.Parameters, hide *redact.Masker) {
	*p = standard.Parameters(*p)
	p.SecretsFound = func(values ...string) {
		hide.Add(values...)
		if t.recorder != nil {
			t.recorder.Hide(values...)
		}
	}
	providers := p.Providers
	p.Providers = func(v config.Variables) model.Source {
		t.Models = standard.ModelOptionsOf(v)
		hide.Add(t.Models.Secrets()...)
		source := providers(v)
		if t.player != nil {
			source = model.Always(t.player)
		}
		if t.file != nil {
			t.recorder = replay.NewRecorder(t.file, hide.Values()...)
			source = standard.Recording(source, t.recorder)
		}
		return source
	}
}

// Shown is a model's name as people are told it: the provider's, for "auto" that
// of its default.
func (t *traffic) Shown(name string) string {
	if resolved, err := t.Models.Resolve(name); err == nil {
		return resolved.Model
	}
	return name
}

// close ends the recording, and says if it is not whole.
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
