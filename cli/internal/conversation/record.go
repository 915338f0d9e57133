package conversation

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// Record is what keeps a conversation. Its zero value keeps nothing.
type Record struct {
	Store     *config.Transcripts // nil: there is none
	Recording *config.Recording   // nil: it is not recorded
	Resumed   bool                // it goes on with an earlier one that was not empty

	cleanups sync.WaitGroup
	stop     context.CancelFunc // ends cleanups; nil: there are none
}

// openRecord begins to record the conversation, or goes on with the one that the
// flags name. That a new one cannot be recorded is told, and ends nothing.
func (t *Talk) openRecord(ctx context.Context, c *config.Config) (*Record, config.Opening, error) {
	r := &Record{}
	if t.Flags.NoRecord && t.Flags.Resume == "" {
		return r, config.Opening{}, nil
	}
	var err error
	if r.Store, err = config.NewTranscripts(c, t.Hide.Values()); err != nil {
		if t.Flags.Resume != "" {
			return nil, config.Opening{}, &program.ExitError{Code: program.ExitConfig, Err: err}
		}
		t.Warn("The session is not recorded: " + fault.Line(err))
		return r, config.Opening{}, nil
	}
	if t.Flags.Resume != "" {
		opening, found, err := t.resume(ctx, c, r)
		if err != nil || found {
			return r, opening, err
		}
	}
	opening, err := t.BeginRecord(ctx, c, r)
	return r, opening, err
}

// BeginRecord records a new session.
func (t *Talk) BeginRecord(ctx context.Context, c *config.Config, r *Record) (config.Opening, error) {
	if t.Flags.NoRecord {
		return config.Opening{}, nil
	}
	var err error
	switch r.Recording, err = r.Store.Record(ctx, c); {
	case err == nil:
		return config.Opening{Recorder: r.Recording, Agents: r.Store}, nil
	case ctx.Err() != nil:
		return config.Opening{}, program.Interrupted()
	case fault.CodeOf(err) == fault.InvalidConfig: // the id is taken
		return config.Opening{}, &program.ExitError{Code: program.ExitUsage, Err: err}
	}
	t.Warn("The session is not recorded: " + fault.Line(err))
	return config.Opening{}, nil
}

// resume goes on with a session. found is false where the latest is wanted and
// there is none.
func (t *Talk) resume(ctx context.Context, c *config.Config, r *Record) (opening config.Opening, found bool, err error) {
	summary, err := r.Store.Find(ctx, t.Flags.Resume)
	if fault.CodeOf(err) == fault.SessionNotFound && t.Flags.Resume == Latest {
		t.Warn("There is no session to go on with; this is a new one.")
		return opening, false, nil
	}
	if err != nil {
		return opening, true, Failure(ctx, err)
	}
	var session *transcript.Session
	if t.Flags.NoRecord {
		if session, err = r.Store.Load(ctx, summary.ID); err == nil {
			var lost []fault.Problem
			opening.History, lost = config.History(session)
			session.Problems = append(session.Problems, lost...)
			_, err = c.StartNewSession(session.ID, session.Highest)
		}
	} else if r.Recording, session, opening.History, err = r.Store.Resume(ctx, c, summary.ID); err == nil {
		opening.Recorder, opening.Agents = r.Recording, r.Store
	}
	if err != nil {
		return opening, true, Failure(ctx, err)
	}
	for _, problem := range session.Problems {
		t.Warn(problem.String())
	}
	return opening, true, nil
}

// Failure is why a recorded session cannot be had.
func Failure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return program.Interrupted()
	case fault.CodeOf(err) == fault.SessionNotFound:
		return &program.ExitError{Code: program.ExitUsage, Err: err}
	}
	return &program.ExitError{Code: program.ExitToolError, Err: err}
}

// CleanUp removes old recordings in the background, as the settings say.
func (r *Record) CleanUp(ctx context.Context, s settings.SessionRetention) {
	if r.Store == nil || r.Recording == nil || !s.Enabled {
		return
	}
	ctx, r.stop = context.WithCancel(ctx)
	r.cleanups.Go(func() {
		_, _ = r.Store.Cleanup(ctx, retentionOf(s)) // what cannot be removed now is tried again
	})
}

// cleanupGrace is how much longer a run may take so that old recordings go.
const cleanupGrace = 500 * time.Millisecond

// Close ends the recording.
func (r *Record) Close(ctx context.Context) {
	if r.Recording != nil {
		_ = r.Recording.Close() // every turn is on the disk already
	}
	if r.stop == nil {
		return
	}
	late := time.AfterFunc(cleanupGrace, r.stop)
	defer late.Stop()
	if ctx.Err() != nil {
		r.stop()
	}
	r.cleanups.Wait()
	r.stop()
}

// retentionOf are the settings as the store takes them.
func retentionOf(s settings.SessionRetention) transcript.Retention {
	return transcript.Retention{MaxAge: ageOf(s.MaxAge), MaxCount: s.MaxCount, MinAge: ageOf(s.MinRetention)}
}

// ageOf is an age as the settings write it, as 30d; "" is 0.
func ageOf(text string) time.Duration {
	if text == "" {
		return 0
	}
	last := len(text) - 1
	n, err := strconv.Atoi(text[:last])
	if err != nil {
		return 0
	}
	const day = 24 * time.Hour
	unit := map[byte]time.Duration{'h': time.Hour, 'd': day, 'w': 7 * day, 'm': 30 * day}[text[last]]
	if unit > 0 && int64(n) > int64(longestAge/unit) {
		return longestAge
	}
	return time.Duration(n) * unit
}

// longestAge is more than any recording's.
const longestAge = 100 * 365 * 24 * time.Hour
