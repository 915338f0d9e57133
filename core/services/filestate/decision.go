package filestate

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Verb names a tool's operation on a file in the forms that messages need, and the component under
// which its late refusals are logged.
type Verb struct {
	Ing, Infinitive, Participle string // "editing", "edit", "edited"
	Component                   string // "EDIT_PRIOR_READ"
}

// Expect is the state of the file from which a change was computed.
type Expect int

// The expectations.
const (
	ExpectAny      Expect = iota // nothing was computed yet
	ExpectExisting               // a file that existed
	ExpectAbsent                 // no file at the path
)

// Check is a request to [Service.Decide].
type Check struct {
	Path   workspace.Path
	Verb   Verb
	Expect Expect
	// Proof is the base hash that the model supplied, lower-case hex, "" for none. A matching hash
	// is sufficient proof.
	Proof string
	// Current is the file as read just now; nil while only a stat is allowed.
	Current *Snapshot
}

// StateMismatch is the message for a change with a wrong base hash, for a file that the
// conversation has seen or that had the hash before. For any other file it is unknown whether it
// has changed.
const StateMismatch = "State Mismatch: File has changed on disk since it was last read."

// Decide decides whether a change may rest on the conversation's knowledge of a file; nil allows
// it. Without c.Current it only calls stat; with it the hash decides. An accepted hash refreshes
// the cache, a changed one clears its flags.
//
// Refusals have code edit_requires_prior_read, file_changed_since_read,
// prior_read_verification_failed, target_is_directory, file_too_large or path_not_in_workspace, and
// a reason.
func (s *Service) Decide(c Check) *fault.Error {
	refusal := s.decide(c)
	if refusal != nil {
		s.Cache.count(func(st *cacheStats) { st.rejections++ })
	}
	return refusal
}

func (s *Service) decide(c Check) *fault.Error {
	info, err := s.files.Stat(c.Path)
	if err != nil {
		return s.decideWithoutStat(c, err)
	}
	if class, special := textfile.ClassifyMode(info.Mode); special {
		return refuseSpecial(c, class)
	}
	if info.Size > s.limits.FileBytes {
		return tooLarge(c.Path, info.Size, s.limits.FileBytes)
	}
	if c.Expect == ExpectAbsent {
		return s.refuseAppeared(c)
	}
	if c.Current != nil {
		info = c.Current.Info
	}
	if c.Proof != "" {
		return s.decideByProof(c, info)
	}
	if s.ApplyKillSwitch() {
		return nil
	}
	e, known := s.known(c.Path, info)
	if !known || e.LastReadAt.IsZero() {
		return s.refuseNeverRead(c)
	}
	if !e.qualifying() {
		return refuseUnqualified(c, e)
	}
	if c.Current == nil {
		return nil
	}
	if c.Current.SHA256 != e.SHA256 {
		s.Cache.disqualify(c.Path.String(), info)
		return refuseChanged(c)
	}
	s.refresh(c)
	return nil
}

// known returns the session's entry of a file, false if there is none.
func (s *Service) known(p workspace.Path, info workspace.Info) (Entry, bool) {
	if s.single {
		return Entry{}, false
	}
	return s.Cache.lookup(p.String(), info)
}

// refresh records an accepted hash. The stat data of a disturbed read is ignored.
func (s *Service) refresh(c Check) {
	if c.Current.Stable && !s.ApplyKillSwitch() {
		s.Cache.refresh(c.Path.String(), c.Current.Info, c.Current.SHA256)
	}
}

// decideWithoutStat decides about a path whose stat failed.
func (s *Service) decideWithoutStat(c Check, err error) *fault.Error {
	if !errors.Is(err, fs.ErrNotExist) {
		e := fault.As(err)
		if e != nil && (e.Code == fault.PathNotInWorkspace || e.Code == fault.NotInitialized) {
			return e
		}
		if s.ApplyKillSwitch() {
			return nil // opening the file reports the problem, if it still exists
		}
		remedy := "Make the file and the directories above it accessible, then try again."
		if e != nil && e.Remedy != "" {
			remedy = e.Remedy // it names the cause: a name too long, a file where a directory should be
		}
		cause := "its stat failed with " + errnoName(err)
		if e != nil && e.Code == fault.PathIsNotADirectory {
			cause = "one of its parents is not a directory (ENOTDIR)"
		}
		return fault.Wrap(fault.PriorReadVerificationFailed, "filestate.decide",
			fmt.Sprintf("Whether %s may be %s could not be verified: %s.", c.Path.String(), c.Verb.Participle, cause),
			remedy, err).Because(fault.Unverifiable)
	}
	_, known := s.Cache.ByPath(c.Path.String())
	seen := known && !s.single
	unexpected := c.Expect == ExpectExisting || c.Proof == "" && seen && !s.ApplyKillSwitch()
	if !unexpected && (c.Proof == "" || c.Proof == EmptySHA256) {
		return nil
	}
	s.Cache.Invalidate(c.Path.String())
	if !seen && c.Expect != ExpectExisting {
		return refuseAbsent(c)
	}
	return refuseDisappeared(c, seen)
}

// decideByProof decides about a supplied hash: without the bytes it is accepted provisionally.
func (s *Service) decideByProof(c Check, info workspace.Info) *fault.Error {
	if c.Current == nil {
		return nil
	}
	e, known := s.known(c.Path, info)
	seen := s.ApplyKillSwitch() || known && e.qualifying()
	if c.Current.SHA256 == c.Proof {
		if s.strict && !seen {
			return s.refuseUnseen(c, e, known)
		}
		s.refresh(c)
		return nil
	}
	if seen {
		if c.Current.SHA256 != e.SHA256 {
			s.Cache.disqualify(c.Path.String(), info)
		}
		if !known { // the cache is disabled, so no read is recorded
			return mismatchWithoutSession(c)
		}
		return mismatch(c)
	}
	switch {
	case s.single:
		return mismatchWithoutSession(c)
	case known && e.changed: // it was seen, and has changed since
		return mismatch(c)
	}
	r := s.refuseUnseen(c, e, known)
	r.Message += " The hash given as the base is not its hash either."
	return r
}

// Seen reports whether the conversation was shown the whole file at p in some state, so that it may
// be shown its current state. It returns true while the cache is disabled by the kill switch.
func (s *Service) Seen(p workspace.Path) bool {
	if !s.MayShow(p) || s.Dropped(p, "") {
		return false
	}
	if s.ApplyKillSwitch() {
		return true
	}
	if info, err := s.files.Stat(p); err == nil {
		e, ok := s.known(p, info)
		return ok && e.qualifying()
	}
	return false
}

// Knows reports whether the conversation has received every byte of the content with the hash sha
// that was read at p. It returns false while the cache is disabled by the kill switch.
func (s *Service) Knows(p workspace.Path, info workspace.Info, sha string) bool {
	if s.ApplyKillSwitch() {
		return false
	}
	e, ok := s.known(p, info)
	return ok && e.qualifying() && e.SHA256 == sha
}

// RefuseMoved returns the refusal of a change that was allowed when it was planned, because the
// file is now Changed, Disappeared or, if it did not exist, NeverRead.
func (s *Service) RefuseMoved(c Check, why fault.Reason) *fault.Error {
	switch why {
	case fault.Disappeared:
		_, seen := s.Cache.ByPath(c.Path.String())
		s.Cache.Invalidate(c.Path.String())
		return refuseDisappeared(c, seen && !s.single)
	case fault.NeverRead:
		return s.refuseAppeared(c)
	}
	if c.Proof != "" {
		return mismatch(c)
	}
	return refuseChanged(c)
}

func (s *Service) refuseUnseen(c Check, e Entry, known bool) *fault.Error {
	if !known || e.LastReadAt.IsZero() {
		return s.refuseNeverRead(c)
	}
	return refuseUnqualified(c, e)
}

func (s *Service) refuseNeverRead(c Check) *fault.Error {
	if s.single {
		return s.refuseWithoutSession(c)
	}
	return &fault.Error{
		Code: fault.EditRequiresPriorRead, Reason: fault.NeverRead, Op: "filestate.decide",
		Message: fmt.Sprintf("%s exists but was not read in this conversation, and %s a file unseen is refused. Use read_file first.", c.Path.String(), c.Verb.Ing),
		Short:   "Not read before " + c.Verb.Ing + ".",
		Remedy:  fmt.Sprintf("Call read_file on it without offset and limit, then %s it based on what you see.", c.Verb.Infinitive),
	}
}

// refuseWithoutSession is refuseNeverRead for hosts without a session, which do not record reads.
func (s *Service) refuseWithoutSession(c Check) *fault.Error {
	r := &fault.Error{
		Code: fault.EditRequiresPriorRead, Reason: fault.NoSession, Op: "filestate.decide",
		Message: fmt.Sprintf("%s exists, and without a session it is unknown whether it was read: %s a file unseen is refused.", c.Path.String(), c.Verb.Ing),
		Short:   "Needs its sha256, as there is no session.",
		Remedy:  "Call read_file on it, then change it by a tool that takes its sha256, as base_content_sha256 or in bases.",
	}
	if s.strict && c.Proof != "" {
		r.Short = "Needs a session."
		r.Remedy = "A hash alone is not enough here, because the file must also have been read in the same session: connect to a server that has sessions."
	}
	return r
}

// refuseUnqualified explains why the lines shown are not enough.
func refuseUnqualified(c Check, e Entry) *fault.Error {
	switch {
	case e.changed:
		return refuseChanged(c)
	case e.nonText:
		return RefuseNonText(c.Path, c.Verb)
	}
	r := &fault.Error{
		Code: fault.EditRequiresPriorRead, Reason: fault.PartialRead, Op: "filestate.decide",
		Message: fmt.Sprintf("Only a part of %s was shown in this conversation, and %s it takes all of it.", c.Path.String(), c.Verb.Ing),
		Short:   "Only partly read before " + c.Verb.Ing + ".",
	}
	missing := e.missing()
	switch {
	case e.unshowable:
		r.Remedy = fmt.Sprintf("It has a line that is too long to be shown, so it can never be shown in full: %s it by a shell command.", c.Verb.Infinitive)
	case len(missing) > 0 && e.totalLines > 0:
		r.Remedy = fmt.Sprintf("Read the remaining lines with read_file (%s), or the whole file without offset and limit if it is short enough, then %s it.", rangesText(missing), c.Verb.Infinitive)
	default:
		r.Remedy = fmt.Sprintf("Call read_file on it without offset and limit, then %s it.", c.Verb.Infinitive)
	}
	return r
}

// rangesText returns missing line ranges as arguments of read_file; of many ranges the first few.
func rangesText(missing [][2]int) string {
	const most = 5
	var parts []string
	for _, m := range missing {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d more ranges", len(missing)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("offset %d limit %d", m[0], m[1]-m[0]))
	}
	return strings.Join(parts, ", ")
}

// RefuseNonText refuses a file that is not text, or whose bytes do not survive any known encoding.
// No further read helps.
func RefuseNonText(p workspace.Path, v Verb) *fault.Error {
	return &fault.Error{
		Code: fault.EditRequiresPriorRead, Reason: fault.NonText, Op: "filestate.decide",
		Message: fmt.Sprintf("%s does not hold plain text that could be written back unchanged, so %s it with this tool is not possible.", p.String(), v.Ing),
		Short:   "Not a text file.",
		Remedy:  "Use a shell command or a program for this kind of file instead.",
	}
}

func refuseSpecial(c Check, class textfile.Class) *fault.Error {
	if class.Kind == textfile.KindDirectory {
		return fault.New(fault.TargetIsDirectory, "filestate.decide",
			fmt.Sprintf("%s is a directory; %s works on files only.", c.Path.String(), c.Verb.Ing),
			"Name a file in it.")
	}
	return &fault.Error{
		Code: fault.EditRequiresPriorRead, Reason: fault.SpecialFile, Op: "filestate.decide",
		Message: fmt.Sprintf("%s is a pipe, socket or device; it was not opened, and %s it with this tool is not possible.", c.Path.String(), c.Verb.Ing),
		Short:   "Not a regular file.",
		Remedy:  "Use a shell command instead.",
	}
}

func refuseChanged(c Check) *fault.Error {
	return &fault.Error{
		Code: fault.FileChangedSinceRead, Reason: fault.Changed, Op: "filestate.decide",
		Message: fmt.Sprintf("%s was modified on disk since it was last read, and %s it now would lose that change. Read it again first.", c.Path.String(), c.Verb.Ing),
		Short:   "Changed since it was read.",
		Remedy:  fmt.Sprintf("Call read_file again, then %s the file as it is now.", c.Verb.Infinitive),
	}
}

// WithState returns refusal for a result that also shows the current state of the file. A refusal
// because of a change then refers to that state instead of read_file, and is so short that the
// state's hash is among the first 300 bytes of the result. Any other refusal is returned unchanged.
func (c Check) WithState(refusal *fault.Error) *fault.Error {
	if refusal.Code != fault.FileChangedSinceRead || refusal.Reason != fault.Changed {
		return refusal
	}
	shown := *refusal
	shown.Remedy = "Read it again below."
	if c.Proof != "" {
		shown.Remedy = "Make the change again for latest_file_state, with its sha256."
	} else {
		shown.Message = c.Path.String() + " was modified since it was last read."
	}
	return &shown
}

// mismatch is refuseChanged for a change that supplied a hash.
func mismatch(c Check) *fault.Error {
	return &fault.Error{
		Code: fault.FileChangedSinceRead, Reason: fault.Changed, Op: "filestate.decide",
		Message: StateMismatch,
		Short:   "Changed since it was read.",
		Remedy:  fmt.Sprintf("Call read_file on %s, then make the change again for that content, with its sha256.", c.Path.String()),
	}
}

// mismatchWithoutSession is mismatch for a hash whose read is not recorded: without a session, or
// with the cache disabled.
func mismatchWithoutSession(c Check) *fault.Error {
	return &fault.Error{
		Code: fault.FileChangedSinceRead, Reason: fault.Changed, Op: "filestate.decide",
		Message: fmt.Sprintf("State Mismatch: the hash given as the base is not that of the current content of %s.", c.Path.String()),
		Short:   "Not in the state of the given hash.",
		Remedy:  "Call read_file on it, then make the change again for that content, with its sha256.",
	}
}

// refuseDisappeared refuses to change a file that the conversation has seen, or that existed with
// the given hash when the change was planned.
func refuseDisappeared(c Check, seen bool) *fault.Error {
	since := "it was last read"
	if !seen {
		since = "this change was planned"
	}
	msg := fmt.Sprintf("%s has disappeared since %s: it was deleted or moved. Nothing was written.", c.Path.String(), since)
	if c.Proof != "" && seen {
		msg = StateMismatch + " " + msg
	}
	return &fault.Error{
		Code: fault.FileChangedSinceRead, Reason: fault.Disappeared, Op: "filestate.decide",
		Message: msg,
		Short:   "Disappeared since it was read.",
		Remedy:  "Find out whether it was moved or deleted on purpose. If it should exist again, create it with write_file and no base_content_sha256.",
	}
}

// refuseAbsent refuses a change by hash of a file that does not exist and was not seen. It is
// unknown whether it ever existed.
func refuseAbsent(c Check) *fault.Error {
	return &fault.Error{
		Code: fault.FileChangedSinceRead, Reason: fault.Disappeared, Op: "filestate.decide",
		Message: fmt.Sprintf("%s does not exist, so it is not in the state of base_content_sha256. Nothing was written.", c.Path.String()),
		Short:   "Does not exist.",
		Remedy:  "Check the path with list_directory. To create the file, use write_file and no base_content_sha256.",
	}
}

// refuseAppeared refuses to create a file that has been created meanwhile.
func (s *Service) refuseAppeared(c Check) *fault.Error {
	r := s.refuseNeverRead(c)
	r.Message = fmt.Sprintf("%s did not exist when this change was planned, but it does now; it was not read in this conversation, and its content was kept. Use read_file first.", c.Path.String())
	return r
}
