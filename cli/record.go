package cli

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// latestSession names the session that was recorded last.
const latestSession = "latest"

// record is what keeps a conversation. Its zero value keeps nothing.
type record struct {
	store     *config.Transcripts // nil: there is none
	recording *config.Recording   // nil: it is not recorded
	resumed   bool                // it goes on with an earlier one that was not empty

	cleanups sync.WaitGroup
	stop     context.CancelFunc // ends cleanups; nil: there are none
}

// openRecord begins to record the conversation, or goes on with the one that the
// flags name. That a new one cannot be recorded is told, and ends nothing.
func (t *talk) openRecord(ctx context.Context, c *config.Config) (*record, config.Opening, error) {
	r := &record{}
	if t.flags.noRecord && t.flags.resume == "" {
		return r, config.Opening{}, nil
	}
	var err error
	if r.store, err = config.NewTranscripts(c, t.hide.Values()); err != nil {
		if t.flags.resume != "" {
			return nil, config.Opening{}, &exitError{code: exitConfig, err: err}
		}
		t.warn("The session is not recorded: " + lineOf(err))
		return r, config.Opening{}, nil
	}
	if t.flags.resume != "" {
		opening, found, err := t.resume(ctx, c, r)
		if err != nil || found {
			return r, opening, err
		}
	}
	opening, err := t.beginRecord(ctx, c, r)
	return r, opening, err
}

// beginRecord records a new session.
func (t *talk) beginRecord(ctx context.Context, c *config.Config, r *record) (config.Opening, error) {
	if t.flags.noRecord {
		return config.Opening{}, nil
	}
	var err error
	switch r.recording, err = r.store.Record(ctx, c); {
	case err == nil:
		return config.Opening{Recorder: r.recording, Agents: r.store}, nil
	case ctx.Err() != nil:
		return config.Opening{}, interrupted()
	case fault.CodeOf(err) == fault.InvalidConfig: // the id is taken
		return config.Opening{}, &exitError{code: exitUsage, err: err}
	}
	t.warn("The session is not recorded: " + lineOf(err))
	return config.Opening{}, nil
}

// resume goes on with a session. found is false where the latest is wanted and
// there is none.
func (t *talk) resume(ctx context.Context, c *config.Config, r *record) (opening config.Opening, found bool, err error) {
	summary, err := r.store.Find(ctx, t.flags.resume)
	if fault.CodeOf(err) == fault.SessionNotFound && t.flags.resume == latestSession {
		t.warn("There is no session to go on with; this is a new one.")
		return opening, false, nil
	}
	if err != nil {
		return opening, true, sessionFailure(ctx, err)
	}
	var session *transcript.Session
	if t.flags.noRecord {
		if session, err = r.store.Load(ctx, summary.ID); err == nil {
			var lost []fault.Problem
			opening.History, lost = config.History(session)
			session.Problems = append(session.Problems, lost...)
			_, err = c.StartNewSession(session.ID, session.Highest)
		}
	} else if r.recording, session, opening.History, err = r.store.Resume(ctx, c, summary.ID); err == nil {
		opening.Recorder, opening.Agents = r.recording, r.store
	}
	if err != nil {
		return opening, true, sessionFailure(ctx, err)
	}
	for _, problem := range session.Problems {
		t.warn(problem.String())
	}
	return opening, true, nil
}

// sessionFailure is why a recorded session cannot be had.
func sessionFailure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case fault.CodeOf(err) == fault.SessionNotFound:
		return &exitError{code: exitUsage, err: err}
	}
	return &exitError{code: exitToolError, err: err}
}

// cleanUp removes old recordings in the background, as the settings say.
func (r *record) cleanUp(ctx context.Context, s settings.SessionRetention) {
	if r.store == nil || r.recording == nil || !s.Enabled {
		return
	}
	ctx, r.stop = context.WithCancel(ctx)
	r.cleanups.Go(func() {
		_, _ = r.store.Cleanup(ctx, retentionOf(s)) // what cannot be removed now is tried again
	})
}

// cleanupGrace is how much longer a run may take so that old recordings go.
const cleanupGrace = 500 * time.Millisecond

// close ends the recording.
func (r *record) close(ctx context.Context) {
	if r.recording != nil {
		_ = r.recording.Close() // every turn is on the disk already
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
