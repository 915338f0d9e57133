package gitdir

import (
	"slices"
	"strings"
	"sync"
)

// accepted is the condition on the value of a harmless key.
type accepted int

const (
	anyValue accepted = iota
	address           // no remote helper and no option
	toggle            // true, false, a number or empty
	listed            // one of the values of the row
	worktree          // the directory that contains the repository
)

// harmlessRow is a row of the table of keys that make git run no program.
type harmlessRow struct {
	section string
	keys    string // separated by blanks; * is every key; those with a leading "." need a subsection
	values  accepted
	list    []string // of listed
}

// harmlessRows is the table. The page docs/policy-commands.md shows it. Every other key of a repository may
// make git run something.
var harmlessRows = []harmlessRow{
	{section: "core", keys: `repositoryformatversion bare filemode logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev
		whitespace commentchar commentstring longpaths preloadindex untrackedcache compression loosecompression checkstat trustctime sharedrepository sparsecheckout
		sparsecheckoutcone splitindex bigfilethreshold packedgitlimit packedgitwindowsize deltabasecachelimit excludesfile attributesfile multipackindex commitgraph
		fscache hidedotfiles protecthfs protectntfs warnambiguousrefs disambiguate fsync fsyncmethod fsyncobjectfiles notesref usereplacerefs ignorestat
		createobject packedrefstimeout filesreflocktimeout maxtreedepth alternaterefsprefixes restrictinheritedhandles lockfilepid`},
	{section: "extensions", keys: "worktreeconfig objectformat compatobjectformat refstorage noop preciousobjects partialclone relativeworktrees"},
	{section: "branch", keys: ".remote .merge .rebase .pushremote .description .gh-merge-base .vscode-merge-base .github-pr-owner-number .gh-pr-base-branch autosetupmerge autosetuprebase sort"},
	{section: "remote", keys: ".fetch .push .mirror .tagopt .prune .prunetags .skipdefaultupdate .skipfetchall .promisor .partialclonefilter .followremotehead .gh-resolved pushdefault"},
	{section: "submodule", keys: ".active .branch .ignore .shallow .fetchrecursesubmodules active fetchjobs recurse propagatebranches alternatelocation alternateerrorstrategy"},
	{section: "user", keys: "name email signingkey useconfigonly"},
	{section: "author", keys: "name email"},
	{section: "committer", keys: "name email"},
	{section: "credential", keys: "username usehttppath .username .usehttppath .provider"},
	{section: "http", keys: "postbuffer lowspeedlimit lowspeedtime version maxrequests extraheader .extraheader"},
	{section: "init", keys: "defaultbranch"},
	{section: "commit", keys: "gpgsign template verbose status cleanup"},
	{section: "tag", keys: "gpgsign forcesignannotated sort"},
	{section: "push", keys: "default autosetupremote followtags gpgsign recursesubmodules useforceifincludes negotiate pushoption"},
	{section: "pull", keys: "rebase ff"},
	{section: "fetch", keys: "prune prunetags parallel recursesubmodules writecommitgraph all fsckobjects unpacklimit negotiationalgorithm showforcedupdates output"},
	{section: "merge", keys: "ff conflictstyle renames renamelimit directoryrenames stat log verbosity branchdesc defaulttoupstream autostash suppressdest verifysignatures .name .recursive"},
	{section: "rebase", keys: "autosquash autostash stat updaterefs missingcommitscheck abbreviatecommands rebasemerges forkpoint backend"},
	{section: "diff", keys: `noprefix mnemonicprefix renames renamelimit context interhunkcontext algorithm colormoved colormovedws submodule statgraphwidth statnamewidth wserrorhighlight
		wordregex indentheuristic ignoresubmodules relative dirstat orderfile suppressblankempty autorefreshindex .xfuncname .funcname .wordregex .binary .algorithm`},
	{section: "log", keys: "date decorate abbrevcommit follow mailmap diffmerges showroot graphcolors excludedecoration initialdecorationset"},
	{section: "format", keys: "signoff numbered subjectprefix coverletter useautobase thread to cc"},
	{section: "blame", keys: "ignorerevsfile markunblamablelines markignoredlines date coloring showemail blankboundary"},
	{section: "lfs", keys: "repositoryformatversion locksverify concurrenttransfers fetchinclude fetchexclude .access .locksverify"},
	{section: "gpg", keys: "format minimaltrustlevel"},
	{section: "gc", keys: "auto autopacklimit autodetach pruneexpire worktreepruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved packrefs writecommitgraph cruftpacks logexpiry aggressivewindow aggressivedepth bigpackthreshold"},
	{section: "maintenance", keys: "auto autodetach strategy .enabled .schedule .auto"},
	{section: "receive", keys: "denycurrentbranch denynonfastforwards denydeletes fsckobjects autogc unpacklimit advertiseatomic advertisepushoptions"},
	{section: "apply", keys: "whitespace ignorewhitespace"},
	{section: "am", keys: "keepcr threeway"},
	{section: "add", keys: "ignoreerrors"},
	{section: "checkout", keys: "defaultremote guess workers thresholdforparallelism"},
	{section: "clean", keys: "requireforce"},
	{section: "interactive", keys: "singlekey"},
	{section: "mailinfo", keys: "scissors"},
	{section: "mailmap", keys: "file blob"},
	{section: "protocol", keys: "version"},
	{section: "rerere", keys: "enabled autoupdate"},
	{section: "showbranch", keys: "default"},
	{section: "stash", keys: "showpatch showstat showincludeuntracked"},
	{section: "worktree", keys: "guessremote userelativepaths"},
	{section: "gui", keys: "wmstate geometry encoding"},
	{section: "advice", keys: "*"}, {section: "color", keys: "*"}, {section: "column", keys: "*"}, {section: "feature", keys: "*"}, {section: "fsck", keys: "*"},
	{section: "grep", keys: "*"}, {section: "i18n", keys: "*"}, {section: "index", keys: "*"}, {section: "notes", keys: "*"}, {section: "pack", keys: "*"},
	{section: "repack", keys: "*"}, {section: "safe", keys: "*"}, {section: "status", keys: "*"}, {section: "transfer", keys: "*"}, {section: "versionsort", keys: "*"},
	{section: "core", keys: "fsmonitor", values: toggle},
	{section: "core", keys: "worktree", values: worktree},
	{section: "remote", keys: ".url .pushurl", values: address},
	{section: "url", keys: ".insteadof .pushinsteadof", values: address},
	{section: "submodule", keys: ".url", values: address},
	{section: "submodule", keys: ".update", values: listed, list: []string{"checkout", "rebase", "merge", "none"}},
	{section: "merge", keys: ".driver", values: listed, list: []string{"true"}},
	{section: "filter", keys: ".required", values: toggle},
	{section: "filter", keys: ".clean .smudge .process", values: listed, list: []string{
		"", "git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f", "git-lfs filter-process", "git-lfs filter-process --skip"}},
	{section: "lfs", keys: "url", values: address},
}

// harmlessKeys returns the table by section and key, with a leading "." for keys that need a
// subsection. It is built once.
var harmlessKeys = sync.OnceValue(func() map[string]*harmlessRow {
	rows := map[string]*harmlessRow{}
	for _, row := range harmlessRows {
		for key := range strings.FieldsSeq(row.keys) {
			rows[row.section+" "+key] = &row
		}
	}
	return rows
})

// isHarmless reports whether a setting makes git run no program. top is the directory that contains
// the repository.
func (s Setting) isHarmless(top string) bool {
	section, sub, key := s.split()
	if s.Problem != "" {
		return false
	}
	if strings.Contains(s.Name, "..") || sub != "" {
		key = "." + key
	}
	rows := harmlessKeys()
	row := rows[section+" "+key]
	if row == nil {
		row = rows[section+" *"]
	}
	if row == nil {
		return section == "include" || section == "includeif" && key == ".path"
	}
	switch row.values {
	case address:
		return !strings.HasPrefix(s.Value, "-") && !strings.Contains(s.Value, "::") && !strings.Contains(sub, "::") && !strings.Contains(s.Value, "://-") && !strings.Contains(sub, "://-")
	case toggle:
		return slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}, strings.ToLower(s.Value))
	case listed:
		return slices.Contains(row.list, s.Value)
	case worktree:
		return resolvePath(s.Repository, s.Value) == top
	case anyValue:
	}
	return true
}
