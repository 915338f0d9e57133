package filestate

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

var (
	overwriting = Verb{"overwriting", "overwrite", "overwritten", "WRITE_FILE"}
	patching    = Verb{"patching", "patch", "patched", "SAFE_PATCH"}
)

// prove decides as for safe_patch: by stat, then with the bytes and a hash.
func (f *fixture) prove(name, hash string) *fault.Error {
	f.t.Helper()
	c := Check{Path: f.path(name), Verb: patching, Proof: hash}
	if refusal := f.Decide(c); refusal != nil {
		return refusal
	}
	c.Current = f.snap(name)
	return f.Decide(c)
}

func deny(code syscall.Errno) error { return &fs.PathError{Op: "stat", Path: "x", Err: code} }

// staged prepares a file "a" for each branch of the decision.
var staged = map[string]struct {
	stage  func(f *fixture)
	code   fault.Code
	reason fault.Reason
	says   []string // in message and remedy
	never  []string
}{
	"never read": { // PR-01, PR-05
		func(f *fixture) { f.write("a", "x") },
		fault.EditRequiresPriorRead, fault.NeverRead, []string{"read_file"}, nil,
	},
	"changed": { // PR-06
		func(f *fixture) { f.write("a", "x"); f.shown("a"); f.write("a", "y") },
		fault.FileChangedSinceRead, fault.Changed, []string{"modified", "since it was last read", "Read it again"}, nil,
	},
	"replaced by rename": { // RC-03
		func(f *fixture) { f.write("a", "x"); f.shown("a"); f.replace("a", "y") },
		fault.FileChangedSinceRead, fault.Changed, []string{"modified"}, nil,
	},
	"changed, asked again": {
		func(f *fixture) { f.write("a", "x"); f.shown("a"); f.write("a", "y"); f.edit("a") },
		fault.FileChangedSinceRead, fault.Changed, []string{"Read it again"}, nil,
	},
	"same size, mtime set back": { // RC-07, KH-01
		func(f *fixture) {
			f.write("a", "x")
			f.shown("a")
			mtime := unixNano(f.info("a").MtimeNS)
			f.write("a", "y")
			require.NoError(f.t, os.Chtimes(f.name("a"), mtime, mtime))
		},
		fault.FileChangedSinceRead, fault.Changed, []string{"modified"}, nil,
	},
	"fresh by stat, other bytes": { // RC-07
		func(f *fixture) {
			p := f.write("a", "x")
			f.shown("a")
			f.write("a", "y")
			f.pretend(p, "a")
		},
		fault.FileChangedSinceRead, fault.Changed, []string{"modified"}, nil,
	},
	"ranged": { // PR-03, PR-07
		func(f *fixture) { f.write("a", "1\n2\n3\n4\n"); f.ranged("a", 1, 2) },
		fault.EditRequiresPriorRead, fault.PartialRead, []string{"offset 0 limit 1", "offset 3 limit 1", "without offset and limit"}, nil,
	},
	"cut": { // PR-03, PR-07, KH-08
		func(f *fixture) { f.write("a", strings.Repeat("x\n", 2500)); f.shown("a") },
		fault.EditRequiresPriorRead, fault.PartialRead, []string{"offset 2000 limit 500"}, nil,
	},
	"full, changed, partly read": { // RC-09
		func(f *fixture) { f.write("a", "x"); f.shown("a"); f.write("a", "1\n2\n"); f.ranged("a", 0, 1) },
		fault.EditRequiresPriorRead, fault.PartialRead, []string{"offset 1 limit 1"}, nil,
	},
	"image": { // PR-03, PR-08
		func(f *fixture) { f.write("a", "\x89PNG\r\n\x1a\n\x00\x00"); f.full("a") },
		fault.EditRequiresPriorRead, fault.NonText, []string{"shell"}, []string{"read_file", "Read"},
	},
	"not read as text": { // PR-08, FS-19
		func(f *fixture) { f.write("a", "broken \xff\xfe\x81 text"); f.full("a") },
		fault.EditRequiresPriorRead, fault.NonText, []string{"shell"}, []string{"read_file", "Read"},
	},
	"fifo": { // PR-09
		func(f *fixture) {
			if err := mkfifo(f.name("a")); err != nil {
				f.t.(*testing.T).Skip(err)
			}
		},
		fault.EditRequiresPriorRead, fault.SpecialFile, []string{"shell", "not opened"}, []string{"read_file", "Read"},
	},
	"directory": { // PR-10
		func(f *fixture) { require.NoError(f.t, os.Mkdir(f.name("a"), 0o755)) },
		fault.TargetIsDirectory, "", []string{"directory"}, nil,
	},
	"stat denied": { // PR-11
		func(f *fixture) { f.write("a", "x"); f.shown("a"); f.disk.statErr = deny(syscall.EACCES) },
		fault.PriorReadVerificationFailed, fault.Unverifiable, []string{"EACCES"}, nil,
	},
	"stat failed": { // PR-11
		func(f *fixture) { f.disk.statErr = deny(syscall.EIO) },
		fault.PriorReadVerificationFailed, fault.Unverifiable, []string{"EIO"}, nil,
	},
	"parent is a file": { // PR-11
		func(f *fixture) {
			f.disk.statErr = fault.Wrap(fault.PathIsNotADirectory, "workspace.stat", "Not a directory.", "Check the path.", deny(syscall.ENOTDIR))
		},
		fault.PriorReadVerificationFailed, fault.Unverifiable, []string{"one of its parents is not a directory (ENOTDIR)"}, nil,
	},
	"disappeared": { // PR-12, FT-08
		func(f *fixture) { f.write("a", "x"); f.shown("a"); require.NoError(f.t, os.Remove(f.name("a"))) },
		fault.FileChangedSinceRead, fault.Disappeared, []string{"disappeared since it was last read", "deleted"}, nil,
	},
	"disappeared after a part was read": {
		func(f *fixture) {
			f.write("a", "1\n2\n")
			f.ranged("a", 0, 1)
			require.NoError(f.t, os.Remove(f.name("a")))
		},
		fault.FileChangedSinceRead, fault.Disappeared, []string{"disappeared"}, nil,
	},
	"too large": { // design §4
		func(f *fixture) { require.NoError(f.t, os.Truncate(f.write("a", "x").String(), 20<<20+1)) },
		fault.FileTooLarge, "", []string{"20 MB", "shell"}, nil,
	},
}

// PR-02, PR-05 … PR-12, PR-24, PR-25, TE-07: every branch without a hash, for every verb
func TestRefusals(t *testing.T) {
	for name, tt := range staged {
		for _, verb := range []Verb{editing, overwriting, patching} {
			t.Run(name+"/"+verb.Infinitive, func(t *testing.T) {
				f := newFixture(t)
				tt.stage(f)
				rejected := f.Cache.counts().rejections
				c := Check{Path: f.path("a"), Verb: verb}
				refusal := f.Decide(c)
				if refusal == nil {
					require.Equal(t, fault.Changed, tt.reason, "only a hash may be needed to find a change")
					c.Current = f.snap("a")
					refusal = f.Decide(c)
				}
				f.requireRefusal(refusal, tt.code, tt.reason)
				require.Equal(t, rejected+1, f.Cache.counts().rejections, "RC-33")
				text := refusal.Message + " " + refusal.Remedy
				require.Contains(t, text, f.name("a"))
				for _, want := range tt.says {
					require.Contains(t, text, want)
				}
				for _, never := range tt.never {
					require.NotContains(t, text, never)
				}
				requireProse(t, refusal, verb)
			})
		}
	}
}

// requireProse checks a refusal against PR-24: sentences, and no verb of another tool.
func requireProse(t *testing.T, r *fault.Error, own Verb) {
	t.Helper()
	for what, text := range map[string]string{"message": r.Message, "short": r.Display(), "remedy": r.Remedy} {
		require.NotEmpty(t, text, what)
		require.NotContains(t, text, "%!", what)
		require.NotContains(t, text, "  ", what)
		require.True(t, strings.HasSuffix(text, "."), "%s is no sentence: %s", what, text)
		first := text[:1]
		require.True(t, first == "/" || first == strings.ToUpper(first), "%s is no sentence: %s", what, text)
	}
	text := " " + strings.ToLower(r.Message+" "+r.Remedy+" "+r.Short)
	for _, verb := range []Verb{editing, overwriting, patching} {
		if verb == own {
			continue
		}
		for _, form := range []string{verb.Ing, " " + verb.Infinitive + " ", verb.Participle} {
			require.NotContains(t, text, form)
		}
	}
}

// PR-24: both verb forms are in the right place.
func TestVerbsInRefusals(t *testing.T) {
	for _, verb := range []Verb{editing, overwriting, patching} {
		f := newFixture(t)
		c := Check{Path: f.write("a", "1\n2\n"), Verb: verb}
		r := f.Decide(c)
		require.Contains(t, r.Message, "and "+verb.Ing+" a file unseen is refused")
		require.Contains(t, r.Remedy, "then "+verb.Infinitive+" it based on what you see")
		require.Equal(t, "Not read before "+verb.Ing+".", r.Short)
		f.ranged("a", 0, 1)
		r = f.Decide(c)
		require.Contains(t, r.Message, "and "+verb.Ing+" it takes all of it")
		require.Contains(t, r.Remedy, "then "+verb.Infinitive+" it.")
		f.shown("a")
		f.write("a", "x")
		c.Current = f.snap("a")
		r = f.Decide(c)
		require.Contains(t, r.Message, "and "+verb.Ing+" it now would lose that change")
		require.Contains(t, r.Remedy, "then "+verb.Infinitive+" the file as it is now")
		f.disk.statErr = deny(syscall.EACCES)
		require.Contains(t, f.Decide(c).Message, "may be "+verb.Participle)
	}
}

// PR-01, PR-03, PR-27, RC-03, RC-07, RC-10, FT-11, CR-04, CR-15: accepted cases
func TestAccepted(t *testing.T) {
	for name, stage := range map[string]func(f *fixture){
		"full read":                func(f *fixture) { f.write("a", "x"); f.shown("a") },
		"placeholder after a read": func(f *fixture) { f.write("a", "x"); f.shown("a"); f.full("a") },
		"full, then ranged":        func(f *fixture) { f.write("a", "1\n2\n"); f.shown("a"); f.ranged("a", 0, 1) },
		"own write":                func(f *fixture) { f.wrote("a", "x") },
		"created, edited":          func(f *fixture) { f.wrote("a", "x"); f.edit("a"); f.wrote("a", "y") },
		"partly read, written":     func(f *fixture) { f.write("a", "1\n2\n"); f.ranged("a", 0, 1); f.wrote("a", "x") },
		"written, ranged":          func(f *fixture) { f.wrote("a", "1\n2\n"); f.ranged("a", 0, 1) },
		"empty":                    func(f *fixture) { f.write("a", ""); f.shown("a") },
		"replaced by equal bytes":  func(f *fixture) { f.write("a", "x"); f.shown("a"); f.replace("a", "x") },
		"touched": func(f *fixture) {
			f.write("a", "x")
			f.shown("a")
			require.NoError(f.t, os.Chtimes(f.name("a"), unixNano(1), unixNano(1)))
		},
		"moved": func(f *fixture) {
			f.write("b", "x")
			f.shown("b")
			require.NoError(f.t, os.Rename(f.name("b"), f.name("a")))
		},
		"the advice for a part is followed": func(f *fixture) { // PR-07
			f.write("a", strings.Repeat("x\n", 2500))
			f.shown("a")
			gaps := f.entry("a").missing()
			require.Len(f.t, gaps, 1)
			f.ranged("a", gaps[0][0], gaps[0][1]-gaps[0][0])
		},
		"the advice for a change is followed": func(f *fixture) {
			f.write("a", "x")
			f.shown("a")
			f.write("a", "y")
			require.NotNil(f.t, f.edit("a"))
			f.shown("a")
		},
		"nothing there, nothing read": func(*fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			stage(f)
			for range 2 {
				require.Nil(t, f.edit("a"))
			}
			require.Zero(t, f.Versions.Current()-int64(f.versionsShown()), "FS-04: a decision spends no version")
		})
	}
}

// versionsShown returns the number of versions that the entries saw last, so that an unused version
// is noticed.
func (f *fixture) versionsShown() int64 {
	var highest int64
	for _, name := range []string{"a", "b"} {
		if e, ok := f.Cache.ByPath(f.name(name)); ok {
			highest = max(highest, e.version)
		}
	}
	return highest
}

// PR-13, FS-53: without a hash, a refusal costs one stat and no open; nor does a decision alone
// open a file.
func TestDecisionOpensNothing(t *testing.T) {
	for name, tt := range staged {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			tt.stage(f)
			stats, opens := f.disk.stats, f.disk.opens
			f.Decide(Check{Path: f.path("a"), Verb: editing})
			require.Equal(t, opens, f.disk.opens)
			require.Equal(t, stats+1, f.disk.stats)
			f.Decide(Check{Path: f.path("a"), Verb: editing, Proof: Sum([]byte("x"))})
			require.Equal(t, opens, f.disk.opens)
		})
	}
}

// PR-04, CR-04: a matching hash is proof, whatever the cache has recorded.
func TestMatchingHashIsProof(t *testing.T) {
	for name, stage := range map[string]func(f *fixture){
		"never read":  func(f *fixture) { f.write("a", "x") },
		"partly read": func(f *fixture) { f.write("a", "x"); f.ranged("a", 0, 1) },
		"cleared":     func(f *fixture) { f.write("a", "x"); f.shown("a"); f.Compacted() },
		"changed":     func(f *fixture) { f.write("a", "y"); f.shown("a"); f.write("a", "x"); f.edit("a") },
		"kill switch": func(f *fixture) { f.write("a", "x"); f.hidden = true },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			stage(f)
			require.Nil(t, f.prove("a", Sum([]byte("x"))))
		})
	}
}

// KH-26: an embedder may require more than the hash.
func TestRequireSeen(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.RequireSeen = true })
	f.write("a", "1\n2\n")
	hash := Sum([]byte("1\n2\n"))
	f.requireRefusal(f.prove("a", hash), fault.EditRequiresPriorRead, fault.NeverRead)
	f.ranged("a", 0, 1)
	f.requireRefusal(f.prove("a", hash), fault.EditRequiresPriorRead, fault.PartialRead)
	f.shown("a")
	require.Nil(t, f.prove("a", hash))
	f.hidden = true
	f.Cache.Clear()
	require.Nil(t, f.prove("a", hash))
}

// FS-28, FS-29, FS-30, PR-25, CR-33: a wrong hash. Only a file that was seen is reported as
// changed.
func TestWrongHash(t *testing.T) {
	wrong := Sum([]byte("wrong"))
	const mismatch, noneOfIts = StateMismatch, "is not its hash either."
	for name, tt := range map[string]struct {
		stage  func(f *fixture)
		code   fault.Code
		reason fault.Reason
		says   string
	}{
		"fully seen, unchanged": {func(f *fixture) { f.write("a", "x"); f.shown("a") }, fault.FileChangedSinceRead, fault.Changed, mismatch},
		"fully seen, changed":   {func(f *fixture) { f.write("a", "x"); f.shown("a"); f.write("a", "y") }, fault.FileChangedSinceRead, fault.Changed, mismatch},
		"never read":            {func(f *fixture) { f.write("a", "x") }, fault.EditRequiresPriorRead, fault.NeverRead, "was not read in this conversation"},
		"partly read":           {func(f *fixture) { f.write("a", "1\n2\n"); f.ranged("a", 0, 1) }, fault.EditRequiresPriorRead, fault.PartialRead, noneOfIts},
		"image":                 {func(f *fixture) { f.write("a", "\x89PNG\r\n\x1a\n\x00"); f.full("a") }, fault.EditRequiresPriorRead, fault.NonText, noneOfIts},
		"kill switch":           {func(f *fixture) { f.write("a", "x"); f.hidden = true }, fault.FileChangedSinceRead, fault.Changed, "State Mismatch: the hash given as the base is not that"}, // CR-16
		"absent":                {func(*fixture) {}, fault.FileChangedSinceRead, fault.Disappeared, "does not exist"},                                                                           // FS-50
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			tt.stage(f)
			for range 2 {
				r := f.prove("a", wrong)
				f.requireRefusal(r, tt.code, tt.reason)
				require.Contains(t, r.Message, tt.says)
				require.Equal(t, tt.says == mismatch, strings.Contains(r.Message, "changed on disk"), r.Message)
				requireProse(t, r, patching)
			}
		})
	}
	require.Equal(t, "State Mismatch: File has changed on disk since it was last read.", StateMismatch)

	f := newFixture(t)
	f.write("a", "x")
	f.shown("a")
	require.NoError(t, os.Remove(f.name("a")))
	r := f.prove("a", Sum([]byte("x")))
	f.requireRefusal(r, fault.FileChangedSinceRead, fault.Disappeared)
	require.True(t, strings.HasPrefix(r.Message, StateMismatch), "it was seen: %s", r.Message)
	r = f.prove("a", Sum([]byte("x")))
	f.requireRefusal(r, fault.FileChangedSinceRead, fault.Disappeared)
	require.NotContains(t, r.Message, "changed", "what is gone is forgotten: %s", r.Message)
}

// RC-07: if a hash shows that the bytes changed, the flags are cleared too, so that nothing rests
// on them later.
func TestWrongHashOfAChangedFileDropsTheFlags(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	f.shown("a")
	require.NotNil(t, f.prove("a", Sum([]byte("wrong"))))
	require.True(t, f.entry("a").qualifying(), "the file is as it was shown")
	f.write("a", "y")
	require.NotNil(t, f.prove("a", Sum([]byte("x"))))
	require.False(t, f.entry("a").qualifying())
	require.False(t, f.Seen(f.path("a")))
}

// PR-14: the decision on an unread file does not depend on its content.
func TestNoContentOracle(t *testing.T) {
	contents := []string{"", "x", "wrong", "old_string", "1\n2\n3\n", "broken \xff", "\x89PNG\r\n\x1a\n\x00"}
	for name, ask := range map[string]func(f *fixture) *fault.Error{
		"no hash":    func(f *fixture) *fault.Error { return f.edit("a") },
		"wrong hash": func(f *fixture) *fault.Error { return f.prove("a", Sum([]byte("neither"))) },
		"another":    func(f *fixture) *fault.Error { return f.prove("a", Sum([]byte("nor"))) },
	} {
		t.Run(name, func(t *testing.T) {
			answers := make(map[string]bool)
			for _, content := range contents {
				f := newFixture(t)
				f.write("a", content)
				r := ask(f)
				answers[strings.ReplaceAll(fmt.Sprint(r.Code, r.Reason, r.Message, r.Remedy), f.top, "")] = true
			}
			require.Len(t, answers, 1, "%v", answers)
		})
	}
}

func TestRangesText(t *testing.T) {
	var many [][2]int
	for i := range 7 {
		many = append(many, [2]int{i * 10, i*10 + 3})
	}
	require.Equal(t, "offset 0 limit 3", rangesText(many[:1]))
	require.Equal(t, "offset 0 limit 3, offset 10 limit 3, offset 20 limit 3, offset 30 limit 3, offset 40 limit 3, and 2 more ranges", rangesText(many))
}

// EX-20: without a session no read is recorded, so only a hash is proof, and a refusal explains
// how.
func TestDecideWithoutSession(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.NoSession = true })
	f.write("a", "x")
	require.Equal(t, Sum([]byte("x")), *f.shown("a").SHA256)
	require.Equal(t, "x", *f.shown("a").Content, "never a placeholder")

	refusal := f.Decide(Check{Path: f.path("a"), Verb: editing})
	f.requireRefusal(refusal, fault.EditRequiresPriorRead, fault.NoSession)
	require.Contains(t, refusal.Remedy, "base_content_sha256")
	require.False(t, f.Seen(f.path("a")))

	require.Nil(t, f.prove("a", Sum([]byte("x"))), "the right hash proves")
	refusal = f.prove("a", Sum([]byte("old")))
	f.requireRefusal(refusal, fault.FileChangedSinceRead, fault.Changed)
	require.True(t, strings.HasPrefix(refusal.Message, "State Mismatch:"), refusal.Message)
	require.NotContains(t, refusal.Message, "last read", "a read cannot be known here")
	f.requireRefusal(f.Decide(Check{Path: f.path("a"), Verb: editing, Expect: ExpectAbsent}),
		fault.EditRequiresPriorRead, fault.NoSession)

	strict := newFixture(t, func(o *Options) { o.NoSession, o.RequireSeen = true, true })
	strict.write("a", "x")
	refusal = strict.prove("a", Sum([]byte("x")))
	strict.requireRefusal(refusal, fault.EditRequiresPriorRead, fault.NoSession)
	require.Contains(t, refusal.Remedy, "has sessions")
}

// With the cache disabled a read is not recorded, so a missing file is not reported as disappeared
// since its read.
func TestGoneWithTheCacheDisabled(t *testing.T) {
	f := newFixture(t)
	f.hidden = true
	f.write("a", "x")
	refusal := f.RefuseMoved(Check{Path: f.path("a"), Verb: patching, Proof: EmptySHA256}, fault.Disappeared)
	require.NotContains(t, refusal.Message, "last read")
}
