package conversation

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// Record keeps the recording of a conversation. The zero value records nothing.
type Record struct {
	Store     *recordings.Store     // nil: none
	Recording *recordings.Recording // nil: not recorded
	Resumed   bool                  // continues a session that was not empty

	cleanups sync.WaitGroup
	stop     context.CancelFunc // ends cleanups; nil: none
}

// openRecord starts recording the conversation, or resumes the session that the flags
// name. A new session that cannot be recorded is reported and goes on.
func (t *Setup) openRecord(ctx context.Context, c *config.Config) (*Record, config.Opening, error) {
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
		opening, found, err := t.resumeFlag(ctx, c, r)
		if err != nil || found {
			return r, opening, err
		}
	}
	opening, err := t.BeginRecord(ctx, c, r)
	return r, opening, err
}

// BeginRecord starts recording a new session.
func (t *Setup) BeginRecord(ctx context.Context, c *config.Config, r *Record) (config.Opening, error) {
	if t.Flags.NoRecord {
		return config.Opening{}, nil
	}
	var err error
	switch r.Recording, err = r.Store.Record(ctx, c); {
	case err == nil:
		return config.Opening{Recorder: r.Recording, Agents: r.Store}, nil
	case ctx.Err() != nil:
		return config.Opening{}, program.Interrupted()
	case fault.CodeOf(err) == fault.InvalidConfig: // the id is in use
		return config.Opening{}, &program.ExitError{Code: program.ExitUsage, Err: err}
	}
	t.Warn("The session is not recorded: " + fault.Line(err))
	return config.Opening{}, nil
}

// resumeFlag resumes the session that the flags name. found is false if the latest is
// requested and no session exists.
func (t *Setup) resumeFlag(ctx context.Context, c *config.Config, r *Record) (opening config.Opening, found bool, err error) {
	ref := t.Flags.Resume
	if ref == Choose {
		ref = Latest
	}
	if opening, err = t.ResumeRecord(ctx, c, r, ref); fault.CodeOf(err) == fault.SessionNotFound && ref == Latest {
		t.Warn("There is no session to resume; this is a new session.")
		return opening, false, nil
	}
	return opening, true, err
}

// ResumeRecord resumes a recorded session and continues its recording in r. ref is an id, its
// beginning, an index, or [Latest]. It reports problems of the recording.
func (t *Setup) ResumeRecord(ctx context.Context, c *config.Config, r *Record, ref string) (opening config.Opening, err error) {
	summary, err := r.Store.Find(ctx, ref)
	if err == nil && t.Flags.Exact && summary.ID != ref {
		err = fault.New(fault.SessionNotFound, "cli", "There is no recorded session with the id "+display.Line(ref)+".", "fettle sessions list lists the sessions.")
	}
	if err == nil && t.Flags.Resuming != nil {
		if _, err = r.Store.Load(ctx, summary.ID); err == nil {
			t.Flags.Resuming(ctx)
		}
	}
	if err != nil {
		return opening, Failure(ctx, err)
	}
	var session *transcript.Session
	if t.Flags.NoRecord {
		if session, err = r.Store.Load(ctx, summary.ID); err == nil {
			var lost []fault.Problem
			opening.History, lost = recordings.History(session)
			session.Problems = append(session.Problems, lost...)
			_, err = c.StartNewSession(session.ID, session.Highest)
		}
	} else if r.Recording, session, opening.History, err = r.Store.Resume(ctx, c, summary.ID); err == nil {
		opening.Recorder, opening.Agents = r.Recording, r.Store
	}
	if err != nil {
		return opening, Failure(ctx, err)
	}
	for _, problem := range session.Problems {
		t.Warn(problem.String())
	}
	return opening, nil
}

// Failure returns the error of a recorded session that cannot be opened, with its
// exit code.
func Failure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return program.Interrupted()
	case fault.CodeOf(err) == fault.SessionNotFound:
		return &program.ExitError{Code: program.ExitUsage, Err: err}
	}
	return &program.ExitError{Code: program.ExitToolError, Err: err}
}

// CleanUp removes old recordings in the background, as set in the settings.
func (r *Record) CleanUp(ctx context.Context, s settings.SessionRetention) {
	if r.Store == nil || r.Recording == nil || !s.Enabled {
		return
	}
	ctx, r.stop = context.WithCancel(ctx)
	r.cleanups.Go(func() {
		_, _ = r.Store.Cleanup(ctx, retentionOf(s)) // a recording that cannot be removed is tried again in the next run
	})
}

// cleanupGrace is the time by which a run may be extended to remove old recordings.
const cleanupGrace = 500 * time.Millisecond

// Close ends the recording.
func (r *Record) Close(ctx context.Context) {
	if r.Recording != nil {
		_ = r.Recording.Close() // every turn is on disk already
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

// retentionOf converts the settings to the type of the store.
func retentionOf(s settings.SessionRetention) transcript.Retention {
	return transcript.Retention{MaxAge: AgeOf(s.MaxAge), MaxCount: s.MaxCount, MinAge: AgeOf(s.MinRetention)}
}

// AgeOf parses an age of the settings, such as 30d; "" is 0.
func AgeOf(text string) time.Duration {
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

// longestAge exceeds the age of any recording.
const longestAge = 100 * 365 * 24 * time.Hour
