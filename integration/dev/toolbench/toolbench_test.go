package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli"
)

// fettleVariable makes the test binary run as fettle.
const fettleVariable = "FETTLE_TOOLBENCH_AS_FETTLE"

func TestMain(m *testing.M) {
	if os.Getenv(fettleVariable) != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// byHand is a tiny contestant in this process. A careful one compares the file with what it gave the
// model, and a careless one does not.
type byHand struct{ given map[string]string }

func (b *byHand) Call(_ context.Context, c Call) (Answer, error) {
	path := c.Args["path"].(string)
	data, err := os.ReadFile(path)
	if c.Tool == "read" {
		if err != nil {
			return Answer{err.Error(), true}, nil
		}
		if b.given != nil {
			b.given[path] = string(data)
		}
		return Answer{Text: string(data)}, nil
	}
	now, exists := string(data), err == nil
	known, read := b.given[path]
	if b.given != nil && (exists != read || now != known) {
		return Answer{"the file has changed", true}, nil
	}
	text := c.Args["text"].(string)
	if old, ok := c.Args["old"].(string); ok {
		if strings.Count(now, old) != 1 {
			return Answer{"not one place", true}, nil
		}
		text = strings.Replace(now, old, text, 1)
	}
	if b.given != nil {
		b.given[path] = text
	}
	return Answer{Text: "ok"}, os.WriteFile(path, []byte(text), 0o644)
}

func (b *byHand) Declarations(context.Context) (string, error) { return "", errNotOffered }
func (b *byHand) Kill()                                        {}
func (b *byHand) Close() error                                 { return nil }

func handContestant(name string, careful bool) Contestant {
	return Contestant{
		Name: name, Kind: "in process", Program: "git",
		Start: func(context.Context, *Lab, string, Mode) (Session, error) {
			b := &byHand{}
			if careful {
				b.given = map[string]string{}
			}
			return b, nil
		},
		Read: func(p string) Call { return Call{"read", args{"path": p}} },
		Edit: func(c Change) Call {
			if c.Old == "" {
				return Call{"write", args{"path": c.Path, "text": c.New}}
			}
			return Call{"write", args{"path": c.Path, "old": c.Old, "text": c.New}}
		},
		Write: func(p, text, _ string) Call { return Call{"write", args{"path": p, "text": text}} },
	}
}

// BE-01: the cases run against fettle and two tiny contestants. fettle has no wrong end, the careful
// one neither, and the careless one loses changes, so the judge tells them apart. The page of the run
// has all parts.
func TestCases(t *testing.T) {
	l, r := quickRun(t, []Contestant{fettle(), handContestant("careful", true), handContestant("careless", false)}, "^(stale|bytes|repair|task|declarations)")
	for _, x := range r.Results {
		if x.Contestant != "careless" {
			require.NotEqual(t, Wrong, x.Verdict, "%s, %s: %s %s", x.Contestant, x.Case, x.Why, x.Answer)
		}
	}
	require.NotZero(t, r.tally("stale", "careless")[Wrong])
	require.NotZero(t, r.tally("stale", "careful")[Refused])
	require.NotZero(t, r.tally("repair", ours)[Done])
	require.NotEmpty(t, r.losses(), "a careless contestant is done where fettle refuses")
	require.Empty(t, r.figures("task-ten")[ours].Failed)
	require.NotZero(t, r.figures("declarations")[ours].Value)
	for _, f := range r.Figures {
		require.Empty(t, f.Failed, "%+v", f)
	}
	docs := filepath.Join(l.Dir, "docs")
	require.NoError(t, writePage(docs, r))
	page, err := os.ReadFile(filepath.Join(docs, "toolbench.md"))
	require.NoError(t, err)
	require.Less(t, strings.Index(string(page), "## Where fettle loses"), strings.Index(string(page), "## The run"))
	for _, g := range groups() {
		require.Contains(t, string(page), "## "+g.Title)
	}
	var again strings.Builder
	require.NoError(t, run(t.Context(), []string{"-from", filepath.Join(docs, "toolbench", rawName)}, &again, io.Discard))
	require.Equal(t, summary(r), again.String())
	for _, picture := range []string{"verdicts.svg", "bytes.svg"} {
		data, err := os.ReadFile(filepath.Join(docs, "toolbench", picture))
		require.NoError(t, err)
		require.Contains(t, string(data), "careless")
	}
}

// BE-01: eight writers and kills, with all commands of the shell groups.
func TestFigures(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("runs with FETTLE_FULL=1")
	}
	_, r := quickRun(t, []Contestant{fettle()}, "^(shell|prompts|lost|torn)")
	for _, x := range r.Results {
		require.NotEqual(t, Wrong, x.Verdict, "%s: %s %s", x.Case, x.Why, x.Answer)
	}
	for _, key := range []string{"lost", "torn"} {
		f := r.figures(key)[ours]
		require.Empty(t, f.Failed, "%+v", f)
		require.Zero(t, f.Value, "%+v", f)
	}
}

func quickRun(t *testing.T, all []Contestant, match string) (*Lab, *Run) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(fettleVariable, "1")
	l, err := newLab(exe, t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(l.Dir)) })
	r, err := play(t.Context(), l, all, regexp.MustCompile(match), regexp.MustCompile(""), true, io.Discard)
	require.NoError(t, err)
	return l, r
}

// The forms of a change lead from one text to the other.
func TestChangeOf(t *testing.T) {
	for name, tt := range map[string]struct{ before, after string }{
		"a line":         {lines(20), lines(20, 7, "x\n")},
		"first":          {lines(20), lines(20, 1, "x\n")},
		"last":           {"a\nb", "a\nc"},
		"an insertion":   {lines(20), lines(20, 7, "line 7\nx\n")},
		"a deletion":     {lines(20), lines(20, 7, "")},
		"equal lines":    {"a\nx\nb\nx\nc\n", "a\nx\nb\ny\nc\n"},
		"two at a time":  {lines(20), lines(20, 7, "x\n", 8, "y\n")},
		"part of others": {"line 1\nline 10\n", "x\nline 10\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := changeOf("/d/"+target, tt.before, tt.after)
			require.Equal(t, 1, strings.Count(tt.before, c.Old), "%q", c.Old)
			require.Equal(t, tt.after, strings.Replace(tt.before, c.Old, c.New, 1))
			require.Equal(t, tt.after, strings.Replace(tt.before, c.Wide, c.WideNew, 1))
			dir := t.TempDir()
			require.NoError(t, one(tt.before).put(dir))
			a, err := (&commandSession{dir: dir}).Call(t.Context(), pipedTo(filepath.Join(dir, target), c.Diff, "git", "apply", "-"))
			require.NoError(t, err)
			require.False(t, a.Refused, "%s\n%s", a.Text, c.Diff)
			got, err := found(dir)
			require.NoError(t, err)
			require.Equal(t, tt.after, got[target].Text)
		})
	}
}

// An error beside a change, a success without one and a file that is left behind are wrong.
func TestJudge(t *testing.T) {
	c := &Case{Files: one("a"), Outside: one("b"), Done: []Tree{one("c")}, Do: Do{Kind: Edit}}
	for i, tt := range []struct {
		refused bool
		got     Tree
		want    Verdict
	}{
		{false, one("c"), Done},
		{true, one("b"), Refused},
		{true, one("c"), Wrong},
		{false, one("b"), Wrong},
		{false, Tree{}, Wrong},
		{true, one("a"), Wrong},
		{false, Tree{target: {Text: "c"}, "a.txt.orig": {}}, Wrong},
		{false, Tree{target: {Text: "c", Executable: true}}, Wrong},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			got, why := c.judge(Answer{Refused: tt.refused}, tt.got)
			require.Equal(t, tt.want, got, why)
		})
	}
}

func TestUsage(t *testing.T) {
	err := run(t.Context(), []string{"-write", "-run", "stale"}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-write replaces the whole page")
}
