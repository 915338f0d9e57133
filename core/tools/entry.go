package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Entry is an entry of a list of tools, NAME or NAME(PATTERN), as tools.core,
// tools.exclude and the files of agents have them.
type Entry struct {
	Name      string
	Patterned bool   // it has brackets
	Pattern   string // what stands between them, without white space around it
}

// ParseEntry reads an entry. An entry without a name has the zero Entry. A missing
// closing bracket is read as if it were there.
func ParseEntry(text string) Entry {
	name, pattern, patterned := strings.Cut(strings.TrimSpace(text), "(")
	return Entry{strings.TrimSpace(name), patterned, strings.TrimSpace(strings.TrimSuffix(pattern, ")"))}
}

// Shell reports whether the entry is about the tool that runs command lines, under
// any of its names.
func (e Entry) Shell() bool {
	return e.Name == shellName || slices.Contains(e.Foreign(), shellName)
}

const shellName = "run_shell_command"

// Whole reports whether the entry means the whole tool: it has no brackets, or "*"
// alone between them, or nothing and the tool is not the shell.
func (e Entry) Whole() bool {
	return !e.Patterned || e.Pattern == "*" || e.Pattern == ":*" || e.Pattern == "" && !e.Shell()
}

// Foreign returns the built-in tools that the name stands for in other programs, as
// Bash or ReadFileTool; nil if it is not such a name. A name without brackets is one
// only if it begins with a capital, since tools of MCP servers may have the others.
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

// Commands returns the beginnings of command lines that an entry about the shell
// names, parted by commas: git status, git:* and git * are all commands that begin
// so. The error says what is not understood, as a clause; then the beginnings are
// those of at least the commands that are meant, or none if that may be any command.
func (e Entry) Commands() (prefixes []string, err error) {
	for prefix := range strings.SplitSeq(e.Pattern, ",") {
		prefix = strings.TrimSpace(prefix)
		if prefix == "" {
			continue
		}
		prefix = anyRest.ReplaceAllString(prefix, "")
		words := strings.Fields(prefix)
		odd := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "*") || isPattern.MatchString(w) })
		if len(words) > 0 && !program.MatchString(words[0]) {
			odd = 0
		}
		if odd >= 0 {
			err = fmt.Errorf("%q is no beginning of a command, with * at its end alone, after a blank or a colon", prefix)
			prefix = strings.Join(words[:odd], " ")
		}
		if prefix == "" {
			return nil, fmt.Errorf("%q names no command", e.Pattern)
		}
		prefixes = append(prefixes, prefix)
	}
	if len(prefixes) == 0 {
		return nil, fmt.Errorf("there is no command between its brackets")
	}
	return prefixes, err
}

var (
	// anyRest is what stands behind a beginning for whatever follows it.
	anyRest = regexp.MustCompile(`(?:\s*:\s*|\s+)\*$`)
	// isPattern finds words that are regular expressions rather than what they say.
	isPattern = regexp.MustCompile(`^/.*/$|^\^|\$$|\\|\.\+|\[.+\]|\(.*\||\|.*\)`)
	// program is a word that may name a program, in quotes or not.
	program = regexp.MustCompile(`^['"]?[\p{L}\p{N}_./~@+%-][\p{L}\p{N}_./~@+%'"-]*$|^\[\[?$`)
)

// Named returns the tools that a text may name which is no entry, as "Bash rm" or
// "run_shell_command; write_file": each of its words that a built-in tool has as its
// name, or that stands for one in other programs. Entries name none.
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

// foreign are the names that other programs give to tools, in small letters and
// without hyphens and underscores, each with those of the tools that do the
// work here.
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

// anyAgent stands for every agent that may be called.
const anyAgent = "invoke_agent"

// ForeignNames returns the built-in tools that do the work of a tool of another
// program, by any spelling of its name; nil if the name is not known.
func ForeignNames(name string) []string { return foreign[foldedName(name)] }

// NamesElsewhere returns the names, sorted, that other programs give to tools which do
// the work of a built-in one, as [Entry.Foreign] knows them: in small letters, without
// hyphens and underscores.
func NamesElsewhere(tool string) []string {
	var names []string
	for name, ours := range foreign {
		if slices.Contains(ours, tool) {
			names = append(names, name, name+"tool")
		}
	}
	slices.Sort(names)
	return names
}

func foldedName(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}
