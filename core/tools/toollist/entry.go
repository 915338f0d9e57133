// Package toollist reads the entries of tool lists, in settings, flags and agent
// files, and selects tools by them.
package toollist

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// Entry is an entry of a list of tools, NAME or NAME(PATTERN), as in tools.core, tools.exclude and agent files.
type Entry struct {
	Name      string
	Patterned bool   // it has parentheses
	Pattern   string // the text between them, trimmed
}

// ParseEntry parses an entry. An entry without a name yields the zero Entry. A missing closing parenthesis is tolerated.
func ParseEntry(text string) Entry {
	name, pattern, patterned := strings.Cut(strings.TrimSpace(text), "(")
	return Entry{strings.TrimSpace(name), patterned, strings.TrimSpace(strings.TrimSuffix(pattern, ")"))}
}

// Shell reports whether the entry names the shell tool, by any of its names.
func (e Entry) Shell() bool {
	return e.Name == shellName || slices.Contains(e.Foreign(), shellName)
}

const shellName = "run_shell_command"

// Whole reports whether the entry applies to the whole tool: it has no parentheses, its pattern is "*", or its pattern
// is empty and the tool is not the shell.
func (e Entry) Whole() bool {
	return !e.Patterned || e.Pattern == "*" || e.Pattern == ":*" || e.Pattern == "" && !e.Shell()
}

// Foreign returns the built-in tools that correspond to a tool name of another program, such as Bash or ReadFileTool;
// nil if it is not such a name. A name without parentheses must start with a capital, because tools of MCP servers may
// have the other names.
func (e Entry) Foreign() []string {
	if e.Name == "" || !e.Patterned && (e.Name[0] < 'A' || e.Name[0] > 'Z') {
		return nil
	}
	f := foldedName(e.Name)
	if names := ForeignNames(e.Name); names != nil {
		return names
	}
	return ForeignNames(strings.TrimSuffix(f, "tool"))
}

// Commands returns the command prefixes of an entry for the shell, which separates them by commas: git status, git:* and
// git * each match all commands with that prefix. The error describes an unsupported pattern, as a clause. The prefixes
// then cover at least the intended commands; they are nil if any command may be intended.
func (e Entry) Commands() (prefixes []string, err error) {
	for prefix := range strings.SplitSeq(e.Pattern, ",") {
		prefix = strings.TrimSpace(prefix)
		if prefix == "" {
			continue
		}
		prefix = anyRest().ReplaceAllString(prefix, "")
		words := strings.Fields(prefix)
		odd := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "*") || isPattern().MatchString(w) })
		if len(words) > 0 && !program().MatchString(words[0]) {
			odd = 0
		}
		if odd >= 0 {
			err = fmt.Errorf("%q is not a command prefix; * is allowed only at the end, after a space or a colon", prefix)
			prefix = strings.Join(words[:odd], " ")
		}
		if prefix == "" {
			return nil, fmt.Errorf("%q names no command", e.Pattern)
		}
		prefixes = append(prefixes, prefix)
	}
	if len(prefixes) == 0 {
		return nil, fmt.Errorf("its parentheses are empty")
	}
	return prefixes, err
}

var (
	// anyRest matches the suffix of a prefix that allows any arguments.
	anyRest = lazyregexp.New(`(?:\s*:\s*|\s+)\*$`)
	// isPattern matches words that are regular expressions rather than literal text.
	isPattern = lazyregexp.New(`^/.*/$|^\^|\$$|\\|\.\+|\[.+\]|\(.*\||\|.*\)`)
	// program matches a word that may be a program name, possibly quoted.
	program = lazyregexp.New(`^['"]?[\p{L}\p{N}_./~@+%-][\p{L}\p{N}_./~@+%'"-]*$|^\[\[?$`)
)

// Named returns the tools named in a text that is not an entry, such as "Bash rm" or "run_shell_command; write_file":
// each word that is the name of a built-in tool, or a name of another program for one. It returns nil for entries.
func Named(text string, builtIn func(name string) bool) []string {
	var all []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if word == text {
			return nil
		}
		names := Entry{Name: word}.Foreign()
		if builtIn(word) {
			names = []string{word}
		}
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// foreign maps tool names of other programs, in lower case and without hyphens and underscores, to the corresponding
// tools.
var foreign = map[string][]string{
	"bash": {shellName}, "shell": {shellName}, "runshellcommand": {shellName}, "shellcommand": {shellName}, "localshell": {shellName}, "terminal": {shellName},
	"runcommand": {shellName}, "executecommand": {shellName}, "execcommand": {shellName}, "executebash": {shellName}, "powershell": {shellName},
	"runinterminal": {shellName}, "runterminalcmd": {shellName}, "runterminalcommand": {shellName}, "bashoutput": {"read_background_output"},
	"killshell": {"stop_background_process"}, "killbash": {"stop_background_process"},
	"read": {"read_file"}, "notebookread": {"read_file"}, "readfile": {"read_file"}, "readmanyfiles": {"read_many_files"},
	"edit": {"safe_patch", "edit"}, "multiedit": {"safe_patch", "edit"}, "notebookedit": {"safe_patch", "edit"}, "replace": {"safe_patch", "edit"},
	"patch": {"safe_patch"}, "applypatch": {"safe_patch"}, "safepatch": {"safe_patch"},
	"write": {"write_file"}, "writefile": {"write_file"}, "glob": {"glob"},
	"grep": {"search_file_content"}, "ripgrep": {"search_file_content"}, "searchtext": {"search_file_content"}, "searchfilecontent": {"search_file_content"},
	"ls": {"list_directory"}, "list": {"list_directory"}, "readfolder": {"list_directory"}, "listdirectory": {"list_directory"}, "findfiles": {"glob"},
	"webfetch": {"web_fetch"}, "websearch": {"web_search"}, "googlewebsearch": {"web_search"},
	"memory": {"save_memory"}, "savememory": {"save_memory"},
	"todowrite": {"write_todos"}, "todoread": {"write_todos"}, "writetodos": {"write_todos"},
	"askuserquestion": {"ask_user"}, "askuser": {"ask_user"}, "exitplanmode": {"exit_plan_mode"}, "enterplanmode": {"enter_plan_mode"},
	"skill": {"activate_skill"}, "activateskill": {"activate_skill"},
	"task": {anyAgent}, "agent": {anyAgent},
}

// anyAgent stands for all agents.
const anyAgent = "invoke_agent"

// ForeignNames returns the built-in tools that correspond to a tool name of another program, in any spelling; nil if the
// name is unknown.
func ForeignNames(name string) []string { return foreign[foldedName(name)] }

// NamesElsewhere returns the sorted names that other programs use for a built-in tool, as [Entry.Foreign] knows them: in
// lower case, without hyphens and underscores.
func NamesElsewhere(tool string) []string { return slices.Clone(namesElsewhere()[tool]) }

var namesElsewhere = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	for name, ours := range foreign {
		for _, tool := range ours {
			names[tool] = append(names[tool], name, name+"tool")
		}
	}
	for _, list := range names {
		slices.Sort(list)
	}
	return names
})

func foldedName(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}
