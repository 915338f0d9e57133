package shell

import (
	"slices"
	"strings"
)

// gitWithValue lists the options before git's subcommand whose value is the next
// word.
var gitWithValue = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix", "--attr-source", "--list-cmds"}

// gitCommands lists git's own subcommands: aliases cannot replace them.
const gitCommands = "add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index" +
	" cherry cherry-pick citool clean clone column commit commit-graph commit-tree config count-objects credential credential-cache credential-store cvsserver daemon describe" +
	" diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch" +
	" fsck gc get-tar-commit-id grep gui hash-object help hook http-backend imap-send index-pack init init-db instaweb interpret-trailers lfs log ls-files ls-remote ls-tree" +
	" mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-refs" +
	" patch-id pickaxe prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote remote-ext remote-fd repack replace replay request-pull" +
	" rerere reset restore rev-list rev-parse revert rm scalar send-email send-pack shell shortlog show show-branch show-index show-ref sparse-checkout stage stash status" +
	" stripspace submodule subtree svn switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack var" +
	" verify-commit verify-pack verify-tag version web--browse whatchanged worktree write-tree"

// git adds git with the commands in its options and settings.
func (a *analysis) git(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		switch {
		case !w.Static && !strings.HasPrefix(w.head, "-"):
			if !w.number {
				a.runs(sc, index, i, w.text(), "it may be an option that makes git run commands")
			}
			return index
		case w.is("-c", "--config-env") && i+1 < len(ws):
			a.gitSetting(sc, index, i, ws[i+1], w.is("-c"))
			i++
		case strings.HasPrefix(w.head, "--config-env=") || strings.HasPrefix(w.head, "--exec-path="):
			a.runs(sc, index, i, w.text(), "the option makes git run other programs")
		case strings.HasPrefix(w.head, "-c") && len(w.head) > 2:
			v := w
			v.Text, v.template, v.head = w.Text[2:], w.template[2:], w.head[2:]
			a.gitSetting(sc, index, i, v, true)
		case w.Static && slices.Contains(gitWithValue, w.Text):
			i++
			if i < len(ws) && ws[i].splits && !ws[i].number && ws[i].certain == nil {
				a.runs(sc, index, i, ws[i].text(), "it may bring options that make git run commands")
			}
		case strings.HasPrefix(w.head, "-"):
			if !w.Static && !strings.Contains(w.head, "=") {
				a.runs(sc, index, i, w.text(), "it may be an option that makes git run commands")
			}
		default:
			a.gitSubcommand(sc, index, i, ws)
			return index
		}
	}
	return index
}

// gitSetting evaluates -c key=value.
func (a *analysis) gitSetting(sc *scope, index, own int, w arg, value bool) {
	key, text, hasValue := strings.Cut(w.template, "=")
	at := sc.under(index, own)
	if (!hasValue || strings.Contains(w.head, "=")) && value {
		switch isGitSetting(strings.ToLower(key)) {
		case harmless:
			return
		case command:
			if v := known(text); w.Static {
				if strings.TrimSpace(text) == "" {
					return
				}
				a.scriptIn(at, v)
				return
			}
		}
	}
	a.runs(sc, index, own, w.text(), "the setting may make git run something")
}

// isGitSetting returns the effect of a setting. A setting is harmless only if it
// is known not to name programs, files or rules for them.
func isGitSetting(key string) effect {
	section, _, _ := strings.Cut(key, ".")
	switch key {
	case "log.showsignature", "format.pretty", "gpg.program":
		return loads
	case "core.pager", "core.editor", "sequence.editor", "core.sshcommand":
		return command
	case "core.quotepath", "core.autocrlf", "core.eol", "core.safecrlf", "core.filemode", "core.ignorecase", "core.abbrev", "core.whitespace",
		"core.commentchar", "core.precomposeunicode", "core.longpaths", "core.preloadindex", "core.untrackedcache", "core.logallrefupdates",
		"core.compression", "core.symlinks", "core.checkstat", "core.bare",
		"init.defaultbranch", "commit.gpgsign", "tag.gpgsign", "push.gpgsign", "commit.verbose", "commit.status", "commit.cleanup",
		"gc.auto", "maintenance.auto", "fetch.prune", "fetch.parallel", "pull.rebase", "pull.ff", "push.default", "push.autosetupremote",
		"merge.ff", "merge.conflictstyle", "merge.renames", "merge.renamelimit", "merge.stat", "rebase.autosquash", "rebase.autostash",
		"diff.noprefix", "diff.mnemonicprefix", "diff.renames", "diff.renamelimit", "diff.context", "diff.interhunkcontext", "diff.algorithm",
		"diff.colormoved", "diff.colormovedws", "diff.submodule", "diff.statgraphwidth", "diff.wserrorhighlight", "diff.wordregex", "diff.indentheuristic",
		"status.short", "status.branch", "status.showuntrackedfiles", "status.relativepaths", "status.renames",
		"http.postbuffer", "http.lowspeedlimit", "http.lowspeedtime", "http.version", "protocol.version", "submodule.recurse", "clone.defaultremotename",
		"stash.showpatch", "blame.showemail", "index.threads", "feature.manyfiles", "column.ui", "versionsort.suffix", "rerere.enabled":
		return harmless
	}
	switch section {
	case "color", "user", "author", "committer", "advice", "log", "format", "grep", "i18n", "pack", "safe", "trace2":
		if section == "trace2" || section == "format" && key == "format.signaturefile" {
			return loads
		}
		return harmless
	case "pager":
		return command
	}
	return loads
}

// gitSubcommand evaluates the words after the subcommand, which is ws[i].
func (a *analysis) gitSubcommand(sc *scope, index, i int, ws []arg) {
	sub, rest := ws[i].Text, ws[i+1:]
	if !in(gitCommands, sub) {
		a.runs(sc, index, i, ws[i].text(), "it may be an alias of git, which can run any command")
		return
	}
	switch sub {
	case "bisect":
		if len(rest) > 1 && rest[0].is("run") {
			a.child(sc, index, i+1, slices.Clone(rest[1:]), input{})
		}
	case "submodule":
		a.gitForeach(sc, index, i, ws)
	case "filter-branch":
		a.runs(sc, index, i, "git filter-branch", "its filters are commands")
	case "config":
		a.gitConfig(sc, index, i, rest)
	case "clone", "fetch", "pull", "ls-remote", "remote", "push", "submodule--helper":
		for j, w := range rest {
			if strings.Contains(w.head, "::") || slices.ContainsFunc(w.values, func(v string) bool { return strings.Contains(v, "::") }) {
				a.runs(sc, index, i+1+j, w.text(), "git runs a program to reach that address")
			}
		}
	}
	for j, w := range rest {
		if value, ok := cutOneOf(w.template, "--format=", "--pretty="); ok && !isGitFormat(value) {
			a.runs(sc, index, i+1+j, w.text(), "git's settings may define the format, and a format with signatures runs a program")
			break
		}
	}
	if row := optionsOf()["git "+sub]; row != nil {
		a.checkOptionsFrom(sc, row, "git "+sub, index, i+1, ws)
	}
}

// isGitFormat reports whether a format of git is not a name from the settings.
func isGitFormat(value string) bool {
	return value == "" || strings.ContainsAny(value, "%:(") || in("oneline short medium full fuller reference email mboxrd raw tar zip tgz tar.gz default", value)
}

// showsSignature reports whether a format, or a key to sort by, makes git verify
// signatures, for which it runs a program.
func showsSignature(s string) bool {
	if sortsBySignature(s) {
		return true
	}
	for {
		_, after, ok := strings.Cut(s, "%")
		if !ok {
			return false
		}
		verb := strings.TrimLeft(after, "+- ")
		if strings.HasPrefix(verb, "G") || strings.HasPrefix(verb, "(signature") || strings.HasPrefix(verb, "(*signature") {
			return true
		}
		s = after
	}
}

// sortsBySignature reports whether a key to sort refs by is their signature.
func sortsBySignature(key string) bool {
	return strings.HasPrefix(strings.TrimLeft(key, "-*"), "signature")
}

// unknownVerb reports whether bash expands the text after a % of a format.
func unknownVerb(s string) bool {
	for {
		_, after, ok := strings.Cut(s, "%")
		if !ok {
			return false
		}
		if verb := strings.TrimLeft(after, `+- (*"'`); strings.HasPrefix(verb, "$") || strings.HasPrefix(verb, "`") {
			return true
		}
		s = after
	}
}

func cutOneOf(s string, starts ...string) (string, bool) {
	for _, start := range starts {
		if rest, ok := strings.CutPrefix(s, start); ok {
			return rest, true
		}
	}
	return "", false
}

// gitForeach evaluates git submodule foreach, which passes its words to a shell.
func (a *analysis) gitForeach(sc *scope, index, i int, ws []arg) {
	for j := i + 1; j < len(ws); j++ {
		if !ws[j].is("foreach") {
			continue
		}
		start := j + 1
		for start < len(ws) && ws[start].is("--recursive", "--quiet", "-q", "--") {
			start++
		}
		if start < len(ws) {
			at := sc.under(index, j)
			at.dirs = dirSet{}
			a.scriptIn(at, joined(ws[start:]))
		}
		return
	}
}

// gitConfig evaluates the writing of a setting.
func (a *analysis) gitConfig(sc *scope, index, i int, rest []arg) {
	for j, w := range rest {
		switch {
		case w.is("-f", "--file", "--blob", "--type", "--default"):
		case w.is("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "list", "get"), w.Static && strings.HasPrefix(w.Text, "--get"):
			return
		case w.is("-e", "--edit", "edit", "--unset", "--unset-all", "unset", "set", "--add", "--replace-all", "--remove-section", "--rename-section"):
		case strings.HasPrefix(w.head, "-"):
		case strings.Contains(w.template, ".") || !w.Static:
			if len(rest) > j+1 && isGitSetting(strings.ToLower(w.template)) != harmless {
				a.runs(sc, index, i+1+j, joinText(rest[j:]), "the setting may make later git commands run something")
			}
			return
		}
	}
}
